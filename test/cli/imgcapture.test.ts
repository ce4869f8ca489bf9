import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { temporaryDirectory } from '../harness/server.ts';
import { type RemoteWorld, startWorld } from '../remote/world.ts';
import { runHere } from './replay/run.ts';

let world: RemoteWorld;
let install: string;
let units: string;
let env: Record<string, string>;
beforeAll(async () => {
  // The first boot of the node is not over: it still has what muster gave to it alone.
  units = temporaryDirectory();
  mkdirSync(join(units, 'multi-user.target.wants'));
  for (const name of ['muster-first-boot.service', 'multi-user.target.wants/muster-first-boot.service', 'own.service'])
    writeFileSync(join(units, name), '[Unit]\n');
  const mounts = { '/etc/systemd/system': units };
  world = await startWorld({ count: 2, prefix: '127.146', refusing: [1], mounts });
  install = temporaryDirectory();
  const { server } = world;
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
  await server.ok('PUT', '/nodes/t0,t1', { os: 'debian12', arch: 'x86_64', profile: 'compute' });
});
afterAll(async () => {
  await world.stop();
  for (const each of [install, units]) rmSync(each, { recursive: true, force: true });
});

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });

/** Of the node, which is this machine, only its /etc. */
function writeExclusions(...more: string[]): string {
  const file = join(install, 'most.exlist');
  const others = readdirSync('/').filter((name) => name !== 'etc' && lstatSync(join('/', name)).isDirectory());
  const out = others.flatMap((name) => [`./${name}`, `./${name}/*`]);
  writeFileSync(file, [...out, './etc/alternatives/*', ...more, ''].join('\n'));
  return file;
}

it('wants to know the host key of the node first', async () => {
  const exlist = writeExclusions();
  expect(await run('imgcapture', 't0', '-t', 'diskless', '-o', 'golden', '--exlist', exlist)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('xdsh t0 true'),
  });
  expect(await run('lsdef', '-t', 'osimage', '-o', 'golden')).toMatchObject({ code: 1 });
});

it('makes an image of what the node has, without what makes it that machine', async () => {
  expect(await run('xdsh', 't0', 'true')).toMatchObject({ code: 0 });
  const exlist = writeExclusions();
  const { code, stdout, stderr } = await run('imgcapture', 't0', '-t', 'diskless', '-o', 'golden', '--exlist', exlist);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('Host keys, machine ID, host name and fstab of the node are left out.\n');
  const { golden } = await world.server.ok('GET', '/osimages/golden');
  const directory = join(install, 'netboot/debian12/x86_64/golden');
  expect(golden).toMatchObject({
    provmethod: 'netboot',
    osvers: 'debian12',
    profile: 'compute',
    rootimgdir: directory,
  });
  const tree = (path: string): string => join(directory, 'rootimg', path);
  expect(readFileSync(tree('etc/passwd'), 'utf8')).toBe(readFileSync('/etc/passwd', 'utf8'));
  expect(lstatSync(tree('etc/shadow')).mode).toBe(lstatSync('/etc/shadow').mode);
  expect(readFileSync(tree('etc/machine-id'), 'utf8')).toBe('');
  expect(readFileSync(tree('etc/fstab'), 'utf8')).toContain('Captured from t0');
  expect(existsSync(tree('etc/hostname'))).toBe(false);
  expect(readdirSync(tree('etc/systemd/system')).toSorted()).toEqual(['multi-user.target.wants', 'own.service']);
  expect(readdirSync(tree('etc/systemd/system/multi-user.target.wants'))).toEqual([]);
  expect(existsSync(tree('usr/bin'))).toBe(false);
  expect(existsSync(tree('etc/alternatives/awk'))).toBe(false);
  expect(await world.server.ok('GET', '/osimages/golden/instance')).toMatchObject({ source: { kind: 'capture' } });
});

it('replaces what it captured before, and nothing that was built otherwise', async () => {
  const exlist = writeExclusions('./etc/passwd');
  expect(await run('imgcapture', 't0', '-t', 'diskless', '-o', 'golden', '--exlist', exlist)).toMatchObject({
    code: 0,
  });
  const directory = join(install, 'netboot/debian12/x86_64');
  expect(existsSync(join(directory, 'golden/rootimg/etc/passwd'))).toBe(false);
  mkdirSync(join(directory, 'other/rootimg/etc'), { recursive: true });
  const refused = await run('imgcapture', 't0', '-t', 'diskless', '-o', 'other', '--exlist', exlist);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('muster did not make it') });
  expect(existsSync(join(directory, 'other/rootimg/etc'))).toBe(true);
});

it('refuses other types, several nodes, and nodes that it does not reach', async () => {
  const options = ['-o', 'golden', '--exlist', writeExclusions()];
  expect(await run('imgcapture', 't0', '-t', 'sysclone', ...options)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('The image golden exists with provmethod netboot'),
  });
  expect(await run('imgcapture', 't0,t1', '-t', 'diskless', ...options)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('from one node'),
  });
  const unreached = await run('imgcapture', 't1', '-t', 'diskless', '-o', 'none');
  expect(unreached).toMatchObject({ code: 1, stderr: expect.stringContaining('t1') });
  expect(existsSync(join(install, 'netboot/debian12/x86_64/none'))).toBe(false);
});
