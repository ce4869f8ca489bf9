import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let install: string;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer();
  install = temporaryDirectory();
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
});
afterAll(async () => {
  rmSync(install, { recursive: true, force: true });
  await server.stop();
});

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });

/** A tree as copycds leaves it, or one that somebody else has made. */
async function distro(name: string, isCopied = true): Promise<string> {
  const tree = join(install, name);
  mkdirSync(tree);
  writeFileSync(join(tree, 'file'), 'x');
  if (isCopied)
    writeFileSync(join(tree, '.muster-medium.json'), JSON.stringify({ os: name, arch: 'x86_64', media: {} }));
  await server.ok('POST', '/definitions', {
    definitions: [{ type: 'osdistro', names: name, attributes: { basename: name, dirpaths: tree } }],
  });
  return tree;
}

const image = (name: string, more: object) =>
  server.ok('POST', `/osimages/${name}`, {
    imagetype: 'linux',
    osname: 'Linux',
    osvers: 'debian12',
    osarch: 'x86_64',
    profile: 'compute',
    provmethod: 'install',
    ...more,
  });

describe('rmosdistro', () => {
  it('removes the tree and its definition', async () => {
    const tree = await distro('debian12');
    expect(await run('rmosdistro', 'debian12', '--dry-run')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('rmosdistro does not take --dry-run: it has no dry run'),
    });
    expect(existsSync(tree)).toBe(true);
    expect(await run('rmosdistro', 'debian12')).toEqual({
      code: 0,
      stdout: 'debian12 has been removed.\n',
      stderr: '',
    });
    expect(existsSync(tree)).toBe(false);
    expect(await server.ok('GET', '/definitions/osdistro')).toEqual([]);
  });

  it('removes nothing that images are installed from, except by force', async () => {
    const tree = await distro('rocky9');
    await image('by-name', { osdistroname: 'rocky9' });
    await image('by-path', { pkgdir: `${tree}/BaseOS` });
    const refused = await run('rmosdistro', '-a');
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the images by-name, by-path are installed from it'),
    });
    expect(existsSync(tree)).toBe(true);
    expect(await run('rmosdistro', '-f', '-a')).toMatchObject({ code: 0 });
    expect(existsSync(tree)).toBe(false);
  });

  it('removes no tree that another one lists too, except by force', async () => {
    const tree = await distro('rhels8');
    await server.ok('POST', '/definitions', {
      definitions: [{ type: 'osdistro', names: 'other9', attributes: { dirpaths: tree } }],
    });
    expect(await run('rmosdistro', 'other9')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the dirpaths of rhels8 have the same directories'),
    });
    expect(existsSync(join(tree, 'file'))).toBe(true);
    expect(await run('rmosdistro', '-f', 'other9')).toMatchObject({ code: 0 });
    expect(existsSync(tree)).toBe(false);
    expect(await run('rmosdistro', 'rhels8')).toMatchObject({ code: 0 });
  });

  it('leaves a directory that copycds has not made', async () => {
    const tree = await distro('own', false);
    expect(await run('rmosdistro', 'own')).toMatchObject({ code: 0 });
    expect(existsSync(join(tree, 'file'))).toBe(true);
  });

  it('refuses a directory outside, and goes on with the others', async () => {
    await server.ok('POST', '/definitions', {
      definitions: [{ type: 'osdistro', names: 'wrong', attributes: { dirpaths: server.data } }],
    });
    await distro('right');
    const { code, stdout, stderr } = await run('rmosdistro', 'wrong', 'right', 'nosuch');
    expect([code, stdout]).toEqual([1, 'right has been removed.\n']);
    expect(stderr.split('\n')).toHaveLength(3);
    expect(existsSync(join(server.data, 'muster.sock'))).toBe(true);
  });
});

describe('chkosimage', () => {
  it('names what is missing', async () => {
    writeFileSync(join(install, 'there.pkglist'), 'bash\n');
    await image('check', {
      provmethod: 'netboot',
      pkglist: join(install, 'there.pkglist'),
      exlist: join(install, 'gone.exlist'),
    });
    const { code, stdout, stderr } = await run('chkosimage', '-V', 'check');
    expect([code, stdout]).toEqual([1, `check: pkglist ${join(install, 'there.pkglist')} is there.\n`]);
    expect(stderr).toContain(`check: exlist ${join(install, 'gone.exlist')} does not exist`);
    expect(stderr).toContain('genimage check');
    expect((await run('xcatprobe', 'osimagecheck')).stdout).toContain('[FAIL] check: check: exlist ');
  });

  it('knows no image that is not defined', async () => {
    expect(await run('chkosimage', 'nosuch')).toMatchObject({ code: 1, stderr: expect.stringContaining('nosuch') });
  });
});

it('geninitrd takes no images for installers', async () => {
  await image('installed', {});
  expect(await run('geninitrd', 'installed')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('installed is for installers'),
  });
});
