import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { debianPackages } from '../../scripts/package/debian.ts';
import { ownArchitecture } from '../../scripts/package/native.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { bootTree } from '../lab/netboot/image.ts';
import { BootedSystem } from '../lab/systemd.ts';

/** In the order of Debian: a package between releases comes before the release, and behind the one of every commit. */
const version = '0.1.0~git99990101000000.00000001';

let directory: string;
let older: string[];
let newer: string[];
let system: BootedSystem;

const inside = (packages: readonly string[]): string[] => packages.map((file) => `/packages/${basename(file)}`);
/** What people upgrade from. Where there is no such commit, or it needs other packages of npm, it is this one under an older name. */
function packagesOfCommitBefore(checkout: string, output: string): string[] {
  const here = join(import.meta.dirname, '../..');
  const git = (...words: string[]): number | null => spawnSync('git', words, { stdio: 'ignore' }).status;
  const isSame = git('-C', here, 'diff', '--quiet', 'HEAD^', '--', 'package-lock.json') === 0;
  if (!isSame || git('clone', '-q', '--shared', '--no-checkout', here, checkout) !== 0) {
    console.error('The upgrade begins at this commit: the one before is not here, or needs other packages of npm.');
    return debianPackages(ownArchitecture, {
      version: '0.1.0~git20260101000000.00000001',
      directory: output,
      fast: true,
    });
  }
  execFileSync('git', ['-C', checkout, 'checkout', '-q', 'HEAD^']);
  symlinkSync(join(here, 'node_modules'), join(checkout, 'node_modules'));
  const node = join(here, 'node_modules/.bin/node');
  for (const words of [['scripts/setup.mjs'], ['scripts/package.ts', '--fast', '--output', output]])
    execFileSync(node, words, { cwd: checkout, stdio: ['ignore', 'ignore', 2] });
  const made = readdirSync(output)
    .filter((file) => !file.includes(version))
    .toSorted();
  return made.map((file) => join(output, file));
}

/** Nobody is there to be asked about settings that were changed: they stay, as they do by default. */
const dpkg = (...words: string[]): string =>
  system.ok('env', 'DEBIAN_FRONTEND=noninteractive', 'dpkg', '--force-confold', ...words);
const muster = (...words: string[]): string => system.ok('muster', ...words);
const isActive = (): string => system.run('systemctl', 'is-active', 'muster').text.trim();
const state = (name: string): string => system.ok('systemctl', 'show', 'muster', '-P', name).trim();

beforeAll(async () => {
  directory = temporaryDirectory();
  const output = join(directory, 'packages');
  mkdirSync(output);
  newer = debianPackages(ownArchitecture, { version, directory: output, fast: true });
  older = packagesOfCommitBefore(join(directory, 'before'), output);
  system = await BootedSystem.boot(await bootTree(), directory, output);
}, 600_000);
afterAll(() => system?.stop());

// It reads every byte of the program: half a minute of a processor, which others may be using.
it('lintian finds no errors', { timeout: 900_000 }, () => {
  const { status, stdout } = spawnSync('lintian', ['--fail-on', 'error', ...newer], {
    encoding: 'utf8',
  });
  expect([status, stdout.split('\n').filter((line) => line.startsWith('E:'))]).toEqual([0, []]);
});

it('a package has no file of this machine, and all files belong to root', () => {
  const listed = execFileSync('dpkg-deb', ['--contents', newer[0]!], { encoding: 'utf8' }).trim().split('\n');
  expect(listed.filter((line) => !/^[-dl]\S+ root\/root /.test(line))).toEqual([]);
  expect(listed.filter((line) => /\s\.\/(root|home|tmp|var)\b/.test(line))).toEqual([]);
});

it('the installed package is a running service that root uses without a login', () => {
  dpkg('--install', ...inside(older));
  expect(isActive()).toBe('active');
  expect(state('StatusText')).toBe('Serving at https://127.0.0.1:8443/muster');
  muster('mkdef', '-t', 'node', 'n1-n3', 'groups=rack1');
  expect(system.ok('nodels', 'rack1')).toBe('n1\nn2\nn3\n');
  expect(system.ok('stat', '-c', '%a %U', '/var/lib/muster')).toBe('700 root\n');
});

it('manual pages and completion are there', () => {
  const files = [
    '/usr/share/man/man1/muster.1.gz',
    '/usr/share/man/man1/rpower.1.gz',
    '/usr/share/bash-completion/completions/muster',
    '/usr/share/zsh/vendor-completions/_muster',
    '/usr/share/fish/vendor_completions.d/muster.fish',
  ];
  expect(files.filter((file) => system.run('test', '-s', file).code !== 0)).toEqual([]);
});

it('the service is confined', () => {
  const shown = system.run('systemd-analyze', 'security', '--no-pager', '--threshold=49', 'muster.service');
  expect(shown.code, shown.text).toBe(0);
  const pid = state('MainPID');
  expect(system.run('nsenter', '-t', pid, '-m', '-r', '-w', 'touch', '/usr/lib/muster/x').text).toContain(
    'Read-only file system',
  );
});

it('systemd starts a service again whose event loop stands still', async () => {
  system.ok('mkdir', '-p', '/etc/systemd/system/muster.service.d');
  const file = '/etc/systemd/system/muster.service.d/watchdog.conf';
  system.ok('sh', '-c', `printf '[Service]\\nWatchdogSec=6\\nRestartSec=0\\n' >${file}`);
  system.ok('systemctl', 'daemon-reload');
  system.ok('systemctl', 'restart', 'muster');
  system.ok('kill', '-STOP', state('MainPID'));
  await expect.poll(() => [state('NRestarts'), isActive()], { timeout: 120_000 }).toEqual(['1', 'active']);
  expect(system.ok('nodels')).toBe('n1\nn2\nn3\n');
  system.ok('rm', file);
  system.ok('systemctl', 'daemon-reload');
});

it('an upgrade from the commit before keeps data and a changed configuration, and interrupts what is under way', () => {
  system.ok('sed', '-i', 's/127.0.0.1:8443/127.0.0.1:9443/', '/etc/muster/muster.toml');
  const before = state('MainPID');
  // Nobody answers at the port of BMCs, so that a command on a few thousand of them is under way for minutes.
  system.ok('systemd-run', '--unit=silent', '--socket-property=ListenDatagram=0.0.0.0:623', 'sleep', 'infinity');
  muster(
    'mkdef',
    '-t',
    'node',
    'm1-m10000',
    'groups=many',
    'mgt=ipmi',
    'bmcusername=admin',
    'bmcpassword=secret',
    'bmc=|\\D+(\\d+)|127.1.($1/250).($1%250+1)|',
  );
  const run = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(muster('rpower', 'many', 'stat', '--detach'))![0];
  expect(muster('runs', 'show', run)).toContain('running');
  dpkg('--install', ...inside(newer));
  expect([isActive(), state('StatusText')]).toEqual(['active', 'Serving at https://127.0.0.1:9443/muster']);
  expect(state('MainPID')).not.toBe(before);
  expect(system.ok('nodels', 'rack1')).toBe('n1\nn2\nn3\n');
  expect(system.ok('nodels', 'many').trim().split('\n')).toHaveLength(10_000);
  expect(muster('runs', 'show', run)).toContain('interrupted');
  // Work goes on: nobody has to mend anything first.
  expect(muster('chdef', '-t', 'node', 'many', 'usercomment=upgraded')).toContain('10000');
  system.ok('systemctl', 'stop', 'silent.socket');
});

it('a user of the machine logs in by PAM, from inside the sandbox of the service', () => {
  expect(system.ok('dpkg-query', '--show', '--showformat=${Conffiles}', 'muster')).toContain('/etc/pam.d/muster');
  system.ok('useradd', '--groups', 'users', 'dora');
  system.ok('sh', '-c', 'echo dora:pw-dora | chpasswd');
  system.ok('sh', '-c', `printf '[accounts]\\nsources = ["pam"]\\n' >>/etc/muster/muster.toml`);
  system.ok('systemctl', 'restart', 'muster');
  muster('mkdef', '-t', 'policy', '-o', '6', 'name=@users', 'commands=nodels', 'rule=allow');
  const asDora = (command: string) =>
    system.run('env', 'HOME=/tmp/dora', 'MUSTER_CA=/var/lib/muster/tls/ca.pem', 'sh', '-c', command);
  const logIn = (password: string) =>
    asDora(`echo ${password} | muster login https://127.0.0.1:9443 --user dora --password-stdin`);
  expect(logIn('wrong')).toMatchObject({ code: 3, text: expect.stringContaining('Authentication failure') });
  expect(logIn('pw-dora')).toMatchObject({ code: 0, text: expect.stringContaining('as dora') });
  expect(asDora('muster nodels rack1')).toEqual({ code: 0, text: 'n1\nn2\nn3\n' });
  expect(asDora('muster lsdef n1').code).not.toBe(0);
});

it('backups are made every night by a timer, in a sandbox of their own', () => {
  const file = '/etc/muster/muster.toml';
  system.ok('sed', '-i', '/^.backup.$/d', file);
  system.ok('sh', '-c', `printf '[backup]\\ndirectory = "/var/backups/muster"\\n' >>${file}`);
  expect(muster('backup', '--schedule')).toContain('A backup is made every night now.');
  expect(system.ok('systemctl', 'is-enabled', 'muster-backup.timer')).toBe('enabled\n');
  expect(system.ok('systemctl', 'is-active', 'muster-backup.timer')).toBe('active\n');
  system.ok('rm', '-r', '/var/backups/muster');
  system.ok('systemctl', 'start', 'muster-backup.service');
  expect(system.ok('ls', '/var/backups/muster')).toMatch(/^muster-\d{8}T\d{6}Z\.tar\n$/);
  const shown = system.run('systemd-analyze', 'security', '--no-pager', '--threshold=49', 'muster-backup.service');
  expect(shown.code, shown.text).toBe(0);
  system.ok('systemctl', 'restart', 'muster');
  expect(system.run('muster', 'doctor').text).toMatch(/^ok {5}backup .*\/var\/backups\/muster\/muster-/m);
});

it('a removed package leaves the data, and so does a purge that nobody has confirmed', () => {
  dpkg('--remove', 'muster-xcat-commands', 'muster');
  expect(isActive()).toBe('inactive');
  system.ok('test', '-s', '/var/lib/muster/muster.sqlite');
  expect(system.run('which', 'rpower', 'muster').text).toBe('');
  expect(dpkg('--purge', 'muster')).toContain('The data of muster stay in /var/lib/muster.');
  system.ok('test', '-s', '/var/lib/muster/secret.key');
});

it('a purge removes the data if that was the answer', () => {
  dpkg('--install', ...inside(newer).filter((file) => !file.includes('xcat')));
  expect(muster('nodels', 'rack1')).toBe('n1\nn2\nn3\n');
  system.ok('sh', '-c', 'echo "muster muster/remove-data boolean true" | debconf-set-selections');
  dpkg('--purge', 'muster');
  expect(system.run('test', '-e', '/var/lib/muster').code).toBe(1);
});
