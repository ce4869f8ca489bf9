import { execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findManager } from '../../src/nodes/update/software.ts';
import { errorOf } from '../harness/errors.ts';
import { makePatternRepository, makeRpmRepository } from '../lab/rpm-packages.ts';
import { startUpdateWorld, type UpdateWorld } from './world.ts';

// Real dnf and zypper on nodes that have apt-get as well, and say by os-release of which distribution they are.
let world: UpdateWorld;
const releases = [
  'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n',
  'ID="opensuse-leap"\nID_LIKE="suse opensuse"\nVERSION_ID="15.6"\n',
];

beforeAll(async () => {
  world = await startUpdateWorld(2, '127.127', 2730);
  const { lab } = world;
  const repository = makeRpmRepository(
    [
      { name: 'lab-base', version: '1.0' },
      { name: 'lab-hello', version: '1.0' },
      { name: 'lab-other', version: '2.0' },
      { name: 'lab-old', version: '1.0' },
      { name: 'lab-member', version: '1.0' },
      { name: 'lab-late', version: '1.0', postinst: 'test -e /opt/lab/lab-hello && echo "late $FLAVOUR" > /opt/late' },
    ],
    { 'lab-tools': ['lab-member'] },
  );
  const source = (name: string): string =>
    `[${name}]\nname=${name}\nbaseurl=file:///srv/${name}\nenabled=1\ngpgcheck=0\n`;
  for (const [index, release] of releases.entries()) {
    for (const [file, bytes] of repository) lab.write(index, `/srv/lab/${file}`, bytes);
    lab.write(index, '/etc/os-release', release);
    for (const place of ['/etc/yum.repos.d', '/etc/zypp/repos.d']) lab.write(index, `${place}/lab.repo`, source('lab'));
    // Debian's rpm keeps its database elsewhere than zypper looks for it.
    lab.write(index, '/etc/rpm/macros', '%_dbpath /var/lib/rpm\n');
  }
  const patterns = makePatternRepository('lab-tools', ['lab-member']);
  for (const [file, bytes] of patterns) lab.write(1, `/srv/patterns/${file}`, bytes);
  lab.write(1, '/etc/zypp/repos.d/patterns.repo', `${source('patterns')}type=yast2\n`);
});
afterAll(() => world?.stop());

const sw = (node: string) => world.server.call('POST', `/nodes/${node}/sw`, { body: {} });
const lists = async (pkglist: string, otherpkglist = ''): Promise<void> => {
  const files = { pkglist: world.source('pkglist', pkglist), otherpkglist: world.source('otherpkglist', otherpkglist) };
  await world.define(files);
};

describe.each([
  ['dnf', 0, 'n1', /^Installed:$/, /Unable to find a match: lab-nosuch/, 1],
  ['zypper', 1, 'n2', /^2 new packages to install\.$/, /No provider of 'lab-nosuch' found/, 104],
] as const)('software maintenance with a real %s', (manager, index, node, success, failure, code) => {
  const installed = (name: string): boolean => existsSync(world.lab.path(index, `/opt/lab/${name}`));

  it('installs, removes, includes and keeps the order of lists', async () => {
    // zypper cannot work on a system of which RPM knows no package at all.
    await lists('lab-base\nlab-old');
    expect((await sw(node)).status).toBe(201);
    expect(installed('lab-old')).toBe(true);
    world.source('more.pkglist', 'lab-hello\n');
    await lists(
      "-lab-old\n-lab-never\n#INCLUDE:more.pkglist#\nlab-member\n#NEW_INSTALL_LIST#\n#ENV:FLAVOUR=it's $(x)#\nlab-late\n--lab-member",
      'extra/dir/lab-other',
    );
    const reply = await sw(node);
    expect([reply.status, reply.json.error]).toEqual([201, undefined]);
    const lines: string[] = reply.json[node];
    const names = ['lab-old', 'lab-hello', 'lab-member', 'lab-late', 'lab-other'];
    expect(names.map(installed)).toEqual([false, true, false, true, true]);
    expect(world.lab.read(index, '/opt/late').toString()).toBe("late it's $(x)\n");
    expect(lines.filter((line) => line.startsWith('postscript'))).toEqual([
      'postscript start..: ospkgs',
      'postscript end....: ospkgs exited with code 0',
      'postscript start..: otherpkgs',
      'postscript end....: otherpkgs exited with code 0',
    ]);
    expect(lines).toContainEqual(expect.stringMatching(success));
    expect(await world.updateStatus(node)).toBe('synced');
    expect((await sw(node)).status).toBe(201);
  });

  it('tells of a package that does not exist', async () => {
    await lists('lab-hello\nlab-nosuch');
    const reply = await sw(node);
    expect(errorOf(reply)).toEqual([403, 1]);
    expect(reply.json.error[0]).toMatch(
      new RegExp(`^${node}: Software maintenance failed: ospkgs exited with code ${code}: `),
    );
    expect(reply.json.error[0]).toMatch(failure);
    expect(await world.updateStatus(node)).toBe('failed');
  });

  it('uses nothing else', () => {
    expect(existsSync(world.lab.path(index, '/var/cache/dnf/lab.solv'))).toBe(manager === 'dnf');
    expect(existsSync(world.lab.path(index, '/var/cache/zypp/solv/lab'))).toBe(manager === 'zypper');
  });
});

it('groups are those of dnf and the patterns of zypper', async () => {
  await lists('-lab-member\n@lab-tools');
  for (const [index, node] of ['n1', 'n2'].entries()) {
    expect((await sw(node)).json).not.toHaveProperty('error');
    expect(existsSync(world.lab.path(index, '/opt/lab/lab-member'))).toBe(true);
  }
});

it.each([
  ['that of its distribution', 'ID=debian', 'apt-get dnf zypper', 'apt-get'],
  ['that of a relative', 'ID=linuxmint\nID_LIKE="ubuntu debian"', 'apt-get dnf zypper', 'apt-get'],
  ['that of its distribution', 'ID=fedora', 'apt-get dnf yum zypper', 'dnf'],
  ['the older one', 'ID="centos"', 'apt-get yum zypper', 'yum'],
  ['that of its distribution', 'ID="sles"', 'apt-get dnf zypper', 'zypper'],
  ['that of a relative', 'ID=x\nID_LIKE="suse"', 'apt-get dnf zypper', 'zypper'],
  ['the first there is', 'ID=fedora', 'zypper', 'zypper'],
  ['the first there is', 'ID=unknown', 'dnf zypper', 'dnf'],
  ['the first there is', '', 'apt-get dnf', 'apt-get'],
  ['none', 'ID=debian', '', ''],
])('a node takes %s: %j with %s', (_which, release, programs, expected) => {
  const { lab } = world;
  const kept = lab.read(1, '/etc/os-release');
  lab.write(1, '/etc/os-release', `${release}\n`);
  const directory = `/opt/programs/${programs}`;
  for (const name of programs.split(' ')) lab.write(1, `${directory}/${name || '.keep'}`, '#!/bin/sh\n', 0o755);
  try {
    const command = `ln -sf /bin/sh '${directory}/sh'; PATH='${directory}'; ${findManager}`;
    expect(execFileSync('chroot', [lab.path(1, '/'), '/bin/sh', '-c', command], { encoding: 'utf8' }).trim()).toBe(
      expected,
    );
  } finally {
    lab.write(1, '/etc/os-release', kept);
  }
});

it('a node without a package manager fails only where there is something to do', async () => {
  for (const name of ['apt-get', 'dnf', 'zypper']) rmSync(world.lab.path(0, `/usr/bin/${name}`));
  await lists('lab-hello');
  expect((await sw('n1')).json.error).toEqual([
    'n1: Software maintenance failed: it has none of the package managers apt-get, dnf, yum and zypper.',
  ]);
  await lists('# nothing');
  expect((await sw('n1')).status).toBe(201);
});
