import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { update } from '../../src/rest/endpoints/remote.ts';
import { roots } from '../../src/rest/endpoints/roots.ts';
import { errorOf } from '../harness/errors.ts';
import { makeRepository } from '../lab/packages.ts';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

let world: UpdateWorld;

beforeAll(async () => {
  world = await startUpdateWorld(2, '127.127', 2729);
  const packages = [
    { name: 'lab-hello', version: '1.0' },
    { name: 'lab-other', version: '2.0' },
    { name: 'lab-old', version: '1.0' },
    { name: 'lab-late', version: '1.0', postinst: 'test -e /opt/lab/lab-hello; echo "late $FLAVOUR" > /opt/late' },
    { name: 'lab-broken', version: '1.0', postinst: 'echo cannot be set up >&2; exit 5' },
  ];
  // n2 has a package that n1 lacks.
  for (const [index, more] of [[], [{ name: 'lab-nosuch', version: '1.0' }]].entries()) {
    for (const [file, bytes] of makeRepository([...packages, ...more]))
      world.lab.write(index, `/srv/lab/${file}`, bytes);
    world.lab.write(index, '/etc/apt/sources.list', 'deb [trusted=yes] file:/srv/lab ./\n');
  }
});
afterAll(() => world?.stop());

const lists = async (pkglist: string, otherpkglist = '', more: Record<string, string> = {}): Promise<void> => {
  const files = { pkglist: world.source('pkglist', pkglist), otherpkglist: world.source('otherpkglist', otherpkglist) };
  await world.define({ ...files, ...more });
};
const sw = (range: string) => world.server.call('POST', `/nodes/${range}/sw`, { body: {} });
const installed = (name: string): boolean => existsSync(world.lab.path(0, `/opt/lab/${name}`));
const begun = 'Performing software maintenance operations. This could take a while, if there are packages to install.';

describe('software maintenance with a real apt', () => {
  it('installs, removes and keeps the order of lists', async () => {
    await lists('lab-old');
    expect((await sw('n1')).status).toBe(201);
    expect(installed('lab-old')).toBe(true);
    await lists(
      "-lab-old\n-lab-never\nlab-hello\n#NEW_INSTALL_LIST#\n#ENV:FLAVOUR=it's $(x)#\nlab-late",
      'extra/dir/lab-other',
    );
    const { n1 } = (await sw('n1')).json;
    expect(['lab-old', 'lab-hello', 'lab-other', 'lab-late'].map(installed)).toEqual([false, true, true, true]);
    expect(world.lab.read(0, '/opt/late').toString()).toBe("late it's $(x)\n");
    expect(n1.filter((line: string) => /^(postscript|Performing|Running)/.test(line))).toEqual([
      begun,
      'postscript start..: ospkgs',
      'postscript end....: ospkgs exited with code 0',
      'postscript start..: otherpkgs',
      'postscript end....: otherpkgs exited with code 0',
      'Running of Software Maintenance has completed.',
    ]);
    expect(n1.some((line: string) => line.includes('Setting up lab-hello (1.0)'))).toBe(true);
    expect(await world.updateStatus('n1')).toBe('synced');
  });

  it.each([
    ['a package that does not exist', 'lab-nosuch', /Unable to locate package lab-nosuch/],
    ['one that cannot be set up', 'lab-broken', /lab-broken/],
  ])('tells of %s', async (_what, list, message) => {
    await lists(list);
    const reply = await sw('n1');
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(/^n1: Software maintenance failed: ospkgs exited with code 100: /);
    expect(reply.json.error[0]).toMatch(message);
    expect(await world.updateStatus('n1')).toBe('failed');
    const run = await world.server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    expect(run.results[0].output.notes.at(-1)).toBe('postscript end....: ospkgs exited with code 100');
    await lists(`-${list}`);
    expect((await sw('n1')).status).toBe(201);
  });

  it('asks the node also when there is nothing to install', async () => {
    await lists('# nothing');
    expect((await sw('n1')).json.n1).toContain('postscript end....: ospkgs exited with code 0');
    await world.define({}, { hosts: [{ node: 'n1', ip: '127.127.9.9' }] });
    expect(errorOf(await sw('n1'))).toEqual([403, 1]);
  });

  it('refuses what is no name of a package, before the node hears of it', async () => {
    await lists('lab-hello\n$(touch /opt/pwned)');
    expect((await sw('n1')).json.error[0]).toContain('pkglist, line 2');
    expect(existsSync(world.lab.path(0, '/opt/pwned'))).toBe(false);
  });
});

describe.each(roots.map(({ prefix }) => prefix))('the examples of the documentation at %s', (root) => {
  it.each(update.map((row) => [row.path, row] as const))('%s', async (_path, row) => {
    world.script('hello', '#!/bin/sh\n');
    await lists('lab-hello', '', { synclists: world.source('x.synclist', `${world.source('x', 'x')} -> /opt/x`) });
    const { path, body, reply: expected } = row.example;
    const reply = await world.server.call('POST', path, { root, ...(body === undefined ? {} : { body }) });
    expect(reply.status).toBe(201);
    if (row.reply === 'list') expect(reply.json).toEqual(expect.arrayContaining(expected as string[]));
    else {
      // The reference system keeps the blank behind the node's name.
      const blank = root === '/xcatws' ? ' ' : '';
      const lines = (expected as Record<string, string[]>)['n1']!.map((line) => `${blank}${line}`);
      expect(reply.json.n1).toEqual(expect.arrayContaining(lines));
    }
  });
});

describe('a whole update', () => {
  it('synchronises files, installs, runs scripts, and leaves out what it has done already', async () => {
    world.script('own', '#!/bin/sh\ncat /opt/motd\n');
    const motd = world.source('motd', 'welcome\n');
    const synclists = world.source('all.synclist', `${motd} -> /opt/motd`);
    await lists('lab-hello', '', { synclists, postscripts: 'syncfiles,own', postbootscripts: 'ospkgs,otherpkgs' });
    const reply = await world.server.call('POST', '/nodes/n1,n2/updating', { body: {} });
    expect(reply.status).toBe(201);
    const lines = (reply.json as string[]).filter((line) => /\.\.: |Running|Performing|File|welcome/.test(line));
    const node = (name: string): string[] =>
      [
        ...['ospkgs', 'otherpkgs'].flatMap((script) => [
          `postscript start..: ${script}`,
          `postscript end....: ${script} exited with code 0`,
        ]),
        'postscript start..: own',
        'welcome',
        'postscript end....: own exited with code 0',
        'Running of postscripts has completed.',
      ].map((line) => `${name}: ${line}`);
    expect(lines).toEqual([
      'File synchronization has completed for nodes: "n1,n2"',
      begun,
      ...node('n1'),
      ...node('n2'),
    ]);
  });

  it('scripts of these names do the same when they are named', async () => {
    const other = world.source('other', 'new\n');
    await lists('lab-hello', '', { synclists: world.source('s.synclist', `${other} -> /opt/other`) });
    const { n1 } = await world.server.ok('POST', '/nodes/n1/postscript', { scripts: ['syncfiles', 'ospkgs'] });
    expect(n1[0]).toBe('File synchronization has completed.');
    expect(n1).toContain('postscript end....: ospkgs exited with code 0');
    expect(world.lab.read(0, '/opt/other').toString()).toBe('new\n');
  });

  it('of a node ends where it fails, and the others get theirs', async () => {
    const motd = world.source('motd', 'welcome back\n');
    const synclists = world.source('all.synclist', `${motd} -> /opt/motd`);
    await lists('lab-nosuch', '', { synclists, postscripts: 'own' });
    const reply = await world.server.call('POST', '/nodes/n1,n2/updating', { body: {} });
    expect(reply.json.error).toEqual([expect.stringMatching(/^n1: Software maintenance failed: /)]);
    const run = await world.server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
    expect(run.results.find(({ node }: { node: string }) => node === 'n2').value).toContain('welcome back');
    expect([await world.updateStatus('n1'), await world.updateStatus('n2')]).toEqual(['failed', 'synced']);
  });
});
