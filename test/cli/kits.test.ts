import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeKit } from '../harness/kit.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { runHere } from './replay/run.ts';

let server: TestServer;
let install: string;
let outside: string;
let postscripts: string;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer();
  install = temporaryDirectory();
  outside = temporaryDirectory();
  postscripts = join(server.data, 'postscripts');
  env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
});
afterAll(async () => {
  for (const directory of [install, outside]) rmSync(directory, { recursive: true, force: true });
  await server.stop();
});

const run = (...argv: string[]) => runHere({ argv, stdin: '', env });
const system = 'debian-12-x86_64';
const license = `tools-license-1.0-1-${system}`;
const compute = `tools-compute-1.0-1-${system}`;

const image = (name: string, more: object = {}) =>
  server.ok('POST', `/osimages/${name}`, {
    imagetype: 'linux',
    osname: 'Linux',
    osvers: 'debian12',
    osarch: 'x86_64',
    profile: 'compute',
    provmethod: 'netboot',
    ...more,
  });
const attributes = async (name: string) =>
  ((await server.ok('GET', `/osimages/${name}`)) as Record<string, Record<string, string>>)[name]!;

describe('addkit', () => {
  it('says what a kit is, and adds nothing, with -i', async () => {
    const file = makeKit(outside);
    expect(await run('addkit', '-i', file)).toEqual({
      code: 0,
      stdout:
        'kitname=tools-1.0-1\n    description=description for tools\n    version=1.0\n    ostype=Linux\n    kitframework=2\n    compatible_kitframeworks=0,1,2\n',
      stderr: '',
    });
    expect((await run('lskit')).stdout).toBe('No kits were found.\n');
    expect(await run('lskit', '-F', file)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('\tkitframework=2\n\tcompatible_kitframeworks=0,1,2\n'),
    });
  });

  it('unpacks kits, places their scripts and defines them', async () => {
    const second = makeKit(outside, { name: 'more', compress: 'gzip' });
    const { code, stdout, stderr } = await run('addkit', `${join(outside, 'tools-1.0-1.tar.bz2')},${second}`);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Adding Kit tools-1.0-1\n');
    expect(stdout).toMatch(/Kit tools-1.0-1,more-1.0-1 was successfully added.\n$/);
    expect(existsSync(join(install, `kits/tools-1.0-1/repos/tools-1.0-1-${system}/Packages`))).toBe(true);
    expect(lstatSync(join(postscripts, 'tools_boot')).mode & 0o777).toBe(0o755);
    const listed = (await run('lskit', 'tools-1.0-1')).stdout;
    expect(listed).toContain(`    kitdir=${install}/kits/tools-1.0-1\n`);
    expect(listed).toContain(`    kitcompname=${compute}\n`);
    expect((await run('lskit', '-K', 'basename', 'tools-1.0-1')).stdout).toMatch(
      /^\n-+\nkit:\n {4}basename=tools\n\n$/,
    );
    expect((await run('tabdump', 'kitrepo')).stdout).toContain(`"tools-1.0-1-${system}","tools-1.0-1","debian","12"`);
    expect((await run('lskitdeployparam', '-c', compute)).stdout).toBe(
      'kitdeployparam:\n    name=KIT_TOOLS_LICENSE\n    value=accept it\n\n',
    );
    expect((await run('lskitcomp', '-S', 'servicenode')).stdout).not.toContain(compute);
    expect(await run('rmkit', 'more')).toMatchObject({ code: 0 });
    expect(existsSync(join(postscripts, 'more_boot'))).toBe(false);
    expect(existsSync(join(install, 'kits/more-1.0-1'))).toBe(false);
  });

  it('refuses a kit that is there, and leaves everything as it was', async () => {
    expect(await run('addkit', join(outside, 'tools-1.0-1.tar.bz2'))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/the kit tools-1\.0-1 exists already\. rmkit KIT removes a kit/),
    });
    expect(existsSync(join(install, 'kits/tools-1.0-1/kit.conf'))).toBe(true);
  });

  it('adds one kit at a time, so that the files are those of the kit that is defined', async () => {
    const colleague = await addUser(server, 'colleague');
    await server.ok('POST', '/policy/8', { name: 'colleague', commands: 'addkit', rule: 'allow' });
    const callOf = (who: string, token: string) => {
      mkdirSync(join(install, who));
      const file = makeKit(join(install, who), { name: 'twice', files: { 'other_files/who': who } });
      return { token, body: { file } };
    };
    const calls = [callOf('first', server.token), callOf('second', colleague)];
    const replies = await Promise.all(calls.map((call) => server.call('POST', '/kits', call)));
    const added = ['first', 'second'].filter((_, at) => replies[at]!.status < 300);
    expect(added).toHaveLength(1);
    expect(readFileSync(join(install, 'kits/twice-1.0-1/other_files/who'), 'utf8')).toBe(added[0]);
    expect(await run('rmkit', 'twice')).toMatchObject({ code: 0 });
  });

  it('replaces no script of the site, and no directory that it has not made', async () => {
    const file = makeKit(outside, { name: 'clash' });
    writeFileSync(join(postscripts, 'clash_boot'), '#!/bin/sh\n# ours\n');
    expect(await run('addkit', file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`its script clash_boot differs from ${postscripts}/clash_boot`),
    });
    rmSync(join(postscripts, 'clash_boot'));
    mkdirSync(join(install, 'kits/clash-1.0-1'));
    writeFileSync(join(install, 'kits/clash-1.0-1/ours'), '');
    expect(await run('addkit', file)).toMatchObject({ code: 1, stderr: expect.stringContaining('did not make it') });
    expect(existsSync(join(install, 'kits/clash-1.0-1/ours'))).toBe(true);
    expect((await run('lskit')).stdout).not.toContain('clash');
  });

  it('takes nothing that leads out of a kit', async () => {
    const cases: [string, string, string][] = [
      ['name', 'kitcomponent:\n  kitcompname=../x\n  basename=x\n  kitreponame=x', 'is not a name of letters'],
      ['script', '   postbootscripts=../../etc/passwd', 'is not the name of a script'],
      ['file', '   exlist=gone.exlist', 'is incomplete: kit.conf names other_files/gone.exlist'],
      ['line', 'nonsense', 'is neither the name of a stanza nor NAME=VALUE'],
    ];
    for (const [name, more, sentence] of cases)
      expect(await run('addkit', makeKit(outside, { name, more }))).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(sentence),
      });
    const linked = makeKit(outside, { name: 'linked' });
    const top = join(outside, 'linked-1.0-1-source');
    execFileSync('ln', ['-s', '/etc/shadow', join(top, 'linked-1.0-1/other_files/shadow')]);
    execFileSync('tar', ['-cjf', linked, '-C', top, 'linked-1.0-1']);
    expect(await run('addkit', linked)).toMatchObject({ code: 1, stderr: expect.stringContaining('is a link') });
    expect(await run('addkit', '/etc/passwd')).toMatchObject({ code: 1, stderr: expect.stringContaining('is no kit') });
    expect(existsSync(join(install, 'kits/linked-1.0-1'))).toBe(false);
    execFileSync('ln', ['-s', join(top, 'linked-1.0-1'), join(outside, 'away')]);
    execFileSync('tar', ['-cjf', linked, '-C', outside, 'away']);
    expect(await run('addkit', linked)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('with one directory'),
    });
  });

  it('lets accounts without full rights name only what images may be made from', async () => {
    const token = await addUser(server, 'operator');
    await server.ok('POST', '/policy/7', { name: 'operator', commands: 'addkit', rule: 'allow' });
    const body = { file: join(outside, 'tools-1.0-1.tar.bz2'), inspect: true };
    const reply = await server.call('POST', '/kits', { token, body });
    expect(reply.text).toContain('outside the directories for images');
  });
});

describe('addkitcomp and rmkitcomp', () => {
  it('wants what a component needs, and fits it to the image', async () => {
    await image('diskless', { postbootscripts: 'own', otherpkglist: join(install, 'own.pkglist') });
    expect(await run('chkkitcomp', '-i', 'diskless', 'tools-compute,tools-license')).toEqual({
      code: 0,
      stdout: `Kit components ${license},${compute} are compatible with osimage diskless\n`,
      stderr: '',
    });
    expect(await run('addkitcomp', '-i', 'diskless', 'tools-compute')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`dependency ${license} for kit component ${compute} is not existing`),
    });
    await image('other', { osvers: 'debian13' });
    expect(await run('addkitcomp', '-a', '-i', 'other', 'tools-compute')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not compatible with kit component'),
    });
    expect((await attributes('other'))['kitcomponents']).toBeUndefined();
  });

  it('gives lists, repositories and scripts to the image, and takes exactly them back', async () => {
    const before = await attributes('diskless');
    const { code, stdout } = await run('addkitcomp', '-a', '-i', 'diskless', 'tools-compute');
    expect(code).toBe(0);
    expect(stdout).toContain(`Assigning kit component ${compute} to osimage diskless\n`);
    const kits = join(install, 'osimages/diskless/kits');
    const repo = `tools-1.0-1-${system}`;
    expect(await attributes('diskless')).toMatchObject({
      kitcomponents: `${license},${compute}`,
      postbootscripts: 'own,tools_boot',
      otherpkgdir: join(install, 'post/otherpkgs/debian12/x86_64'),
      otherpkglist: [
        `${kits}/KIT_DEPLOY_PARAMS.otherpkgs.pkglist`,
        join(install, 'own.pkglist'),
        `${kits}/KIT_COMPONENTS.otherpkgs.pkglist`,
      ].join(','),
      exlist: `${kits}/KIT_COMPONENTS.exlist`,
      postinstall: `${kits}/KIT_COMPONENTS.postinstall`,
    });
    expect(readFileSync(`${kits}/KIT_COMPONENTS.otherpkgs.pkglist`, 'utf8')).toBe(
      `${repo}/tools-license\n${repo}/tools-compute\n`,
    );
    expect(readlinkSync(join(install, 'post/otherpkgs/debian12/x86_64', repo))).toBe(
      join(install, 'kits/tools-1.0-1/repos', repo),
    );
    const script = `${kits}/KIT_COMPONENTS.postinstall`;
    execFileSync('sh', ['-n', script]);
    expect(readFileSync(script, 'utf8')).toContain("KIT_TOOLS_LICENSE='accept it'");

    expect(await run('rmkitcomp', '-i', 'diskless', license)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Failed to remove kitcomponent ${license} because ${compute} is still depending`),
    });
    expect(await run('rmkitcomp', '-u', '-i', 'diskless', `${license},${compute}`)).toEqual({
      code: 0,
      stdout: `Removing kitcomponent ${license} from osimage diskless\nRemoving kitcomponent ${compute} from osimage diskless\nkitcomponents ${license},${compute} were removed from osimage diskless successfully\n`,
      stderr: '',
    });
    expect(readFileSync(`${kits}/KIT_RMPKGS.otherpkgs.pkglist`, 'utf8')).toBe(
      '-tools-license\n-tools-eula\n-tools-compute\n-tools-one\n-tools-two\n',
    );
    expect(await run('addkitcomp', '-i', 'diskless', 'tools-license')).toMatchObject({ code: 0 });
    expect(readFileSync(`${kits}/KIT_RMPKGS.otherpkgs.pkglist`, 'utf8')).not.toContain('license');
    rmSync(`${kits}/KIT_RMPKGS.otherpkgs.pkglist`);
    expect(await run('rmkitcomp', '-i', 'diskless', 'tools-license')).toMatchObject({ code: 0 });
    const { otherpkgdir: _, ...after } = await attributes('diskless');
    expect(after).toEqual(before);
  });

  it('replaces an older version, or keeps both in steps of their own with -n', async () => {
    await run('addkit', makeKit(outside, { version: '1.10' }));
    await image('versions');
    await run('addkitcomp', '-i', 'versions', license);
    const newer = `tools-license-1.10-1-${system}`;
    expect((await run('addkitcomp', '-i', 'versions', 'tools-license')).stdout).toContain(
      `Upgrading kit component ${license} to ${newer}\n`,
    );
    expect((await attributes('versions'))['kitcomponents']).toBe(newer);
    expect(await run('addkitcomp', '-i', 'versions', license)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Downgrading kit component is not supported'),
    });
    expect(await run('addkitcomp', '-n', '-i', 'versions', license)).toMatchObject({ code: 0 });
    const list = join(install, 'osimages/versions/kits/KIT_COMPONENTS.otherpkgs.pkglist');
    expect(readFileSync(list, 'utf8')).toBe(
      `tools-1.10-1-${system}/tools-license\n#NEW_INSTALL_LIST#\n#INCLUDE:${install}/kits/tools-1.0-1/other_files/tools.env#\ntools-1.0-1-${system}/tools-license\n`,
    );
  });

  it('names components that are not defined any more', async () => {
    await image('stale', { kitcomponents: 'gone-1.0' });
    expect((await run('addkitcomp', '-i', 'stale', license)).stdout).toContain(
      'The kit component gone-1.0 is not defined any more, and stale loses it.\n',
    );
    expect((await attributes('stale'))['kitcomponents']).toBe(license);
  });

  it('lets installers of disks run the scripts of images at the first boot', async () => {
    await image('installed', { provmethod: 'install' });
    await run('addkitcomp', '--noscripts', '-a', '-i', 'installed', compute);
    expect((await attributes('installed'))['postbootscripts']).toBeUndefined();
    await run('rmkitcomp', '-i', 'installed', 'tools-compute,tools-license');
    await run('addkitcomp', '-a', '-i', 'installed', compute);
    const { postbootscripts, postinstall } = await attributes('installed');
    expect([postbootscripts, postinstall]).toEqual(['tools_boot,tools_image', undefined]);
  });
});

it('replaces no link of the site', async () => {
  const packages = join(install, 'own-packages');
  const link = join(packages, `tools-1.0-1-${system}`);
  mkdirSync(packages);
  symlinkSync(outside, link);
  await image('linked', { otherpkgdir: packages });
  expect(await run('addkitcomp', '-i', 'linked', license)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`${link} must become a link`),
  });
  expect(readlinkSync(link)).toBe(outside);
});

describe('names in the tables of kits', () => {
  it('lead out of no directory, whoever wrote them', async () => {
    const victim = join(install, 'victim.txt');
    writeFileSync(victim, '#!/bin/sh\nexit 0\n');
    const cases = [
      ['postbootscripts', 'tools_boot', ['rmkit', '-f', 'tools-1.0-1']],
      ['genimage_postinstall', 'tools_image', ['addkitcomp', '-a', '-i', 'installed', compute]],
      ['exlist', 'tools.exlist', ['addkitcomp', '-a', '-i', 'installed', compute]],
    ] as const;
    for (const [attribute, right, argv] of cases) {
      await run('chdef', '-t', 'kitcomponent', '-o', compute, `${attribute}=z/../../../../../victim.txt`);
      expect(await run(...argv)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`${attribute} "z/../../../../../victim.txt" of the kit component ${compute}`),
      });
      await run('chdef', '-t', 'kitcomponent', '-o', compute, `${attribute}=${right}`);
    }
    expect([existsSync(victim), existsSync(join(install, 'kits/tools-1.0-1'))]).toEqual([true, true]);
  });
});

describe('files of kits', () => {
  it('are read only where files of images may be, by plain names', async () => {
    mkdirSync(join(outside, 'other_files'));
    writeFileSync(join(outside, 'other_files/tools.env'), '#ENV:LEAK=1#\n');
    writeFileSync(join(install, 'kits/tools-1.0-1/leak'), '#ENV:LEAK=1#\n');
    const changed = async (type: string, name: string, value: string, argv: readonly string[]) => {
      const attribute = value.split('=')[0]!;
      const before = Object.values(await server.ok('GET', `/definitions/${type}/${name}`))[0] as Record<string, string>;
      await run('chdef', '-t', type, '-o', name, value);
      const { code, stderr } = await run(...argv);
      await run('chdef', '-t', type, '-o', name, `${attribute}=${before[attribute]}`);
      return [code, stderr];
    };
    const parameters = ['lskitdeployparam', '-k', 'tools-1.0-1'];
    const add = ['addkitcomp', '-a', '-i', 'other', '-f', compute];
    const elsewhere = [1, expect.stringContaining('outside the directories for images')];
    expect(await changed('kit', 'tools-1.0-1', `kitdir=${outside}`, parameters)).toEqual(elsewhere);
    expect(await changed('kit', 'tools-1.0-1', `kitdir=${outside}`, add)).toEqual(elsewhere);
    expect(await changed('kitrepo', `tools-1.0-1-${system}`, `kitrepodir=${outside}`, add)).toEqual(elsewhere);
    expect(await changed('kit', 'tools-1.0-1', 'kitdeployparams=../leak', parameters)).toEqual([
      1,
      expect.stringContaining('kitdeployparams "../leak" of the kit tools-1.0-1'),
    ]);
  });
});

describe('rmkit', () => {
  it('names the images that have components of a kit, and removes nothing', async () => {
    expect(await run('rmkit', '-t', 'tools-1.0-1')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`${license} is being used by osimage versions\n`),
    });
    expect(await run('rmkit', 'tools-1.0-1')).toMatchObject({ code: 1, stderr: expect.stringContaining('versions') });
    expect(existsSync(join(install, 'kits/tools-1.0-1/kit.conf'))).toBe(true);
    expect(await run('rmkit', 'nosuch')).toMatchObject({ code: 1, stderr: expect.stringContaining('nosuch') });
  });

  it('takes them out of the images by force', async () => {
    const { code, stdout } = await run('rmkit', '-V', '-f', 'tools');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Kit tools-1.0-1,tools-1.10-1 was successfully removed.\n$/);
    expect((await attributes('installed'))['postbootscripts']).toBeUndefined();
    expect((await attributes('versions'))['kitcomponents']).toBeUndefined();
    expect(existsSync(join(install, `post/otherpkgs/debian12/x86_64/tools-1.0-1-${system}`))).toBe(false);
    expect(existsSync(join(postscripts, 'tools_boot'))).toBe(false);
    expect((await run('lskitcomp')).stdout).toBe('No kit components were found.\n');
  });
});
