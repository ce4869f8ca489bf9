import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../harness/server.ts';
import { type Element, parse } from './answers/parse.ts';
import { type BootLab, startBootLab } from './boot-client.ts';

const here = '127.0.0.1';
let lab: BootLab;

const file = (path: string, text: string, mode = 0o644): string => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};

/** Of each installer: what it boots, the file that it reads, and the commands at its end. */
const installers = {
  'rocky9.6': {
    tree: ['images/pxeboot/vmlinuz', 'images/pxeboot/initrd.img'],
    answers: 'ks.cfg',
    ending: (text: string) => [/^%post --erroronfail\n(.*?)^%end$/ms.exec(text)![1]!],
    isInside: true,
  },
  'debian12.12': {
    tree: ['install/netboot/debian-installer/amd64/linux', 'install/netboot/debian-installer/amd64/initrd.gz'],
    answers: 'preseed.cfg',
    ending: (text: string) => [/^d-i preseed\/late_command string (.*)$/m.exec(text)![1]!],
    isInside: false,
  },
  'ubuntu24.04.3': {
    tree: ['casper/vmlinuz', 'casper/initrd', 'medium.iso'],
    answers: 'user-data',
    ending: (text: string) => {
      const [data] = parse('yaml', [text]) as [{ autoinstall: { 'late-commands': string[] } }];
      return data.autoinstall['late-commands'];
    },
    isInside: false,
  },
  'sles15.6': {
    tree: ['boot/x86_64/loader/linux', 'boot/x86_64/loader/initrd'],
    answers: 'autoinst.xml',
    ending: (text: string) => {
      const [profile] = parse('xml', [text]) as [Element];
      const { text: source } = ['scripts', 'chroot-scripts', 'script', 'source'].reduce(
        (at, name) => at.children.find(({ tag }) => tag.endsWith(`}${name}`))!,
        profile,
      );
      return [source];
    },
    isInside: true,
  },
} as const;
type System = keyof typeof installers;

beforeAll(async () => {
  lab = await startBootLab();
  await lab.server.ok('PUT', '/nodes/n1', {
    groups: 'all',
    netboot: 'xnba',
    arch: 'x86_64',
    mac: '52:54:00:00:00:01',
    ip: here,
  });
  for (const [os, { tree }] of Object.entries(installers)) {
    const pkgdir = join(lab.install, os, 'x86_64');
    for (const name of tree) file(join(pkgdir, name), 'x');
    await lab.server.ok('POST', `/osimages/${os}`, {
      imagetype: 'linux',
      osname: 'Linux',
      osvers: os,
      osarch: 'x86_64',
      profile: 'compute',
      provmethod: 'install',
      pkgdir,
    });
  }
});
afterAll(() => lab.stop());

/** What the new system has to itself: the script that runs in it must change nothing of this machine. */
const enter = (root: string): string => `mount --bind ${root} /root
for each in /etc/systemd/system /usr/local/sbin /etc/yum.repos.d /etc/chrony/sources.d; do
  [ ! -d $each ] || mount -t tmpfs none $each
done
`;

interface Ended {
  readonly code: number;
  readonly errors: string;
  /** The seconds that it would have slept, a number for each time. */
  readonly slept: readonly string[];
  /** What it left in the new system. */
  readonly left: readonly string[];
}

/**
 * Runs the end of an installation as its installer does. Played are the programs by which installers enter the new system, and sleep;
 * `programs` are more of them, and `prepare` changes the home of root there.
 */
async function finish(
  os: System,
  { prepare = () => {}, programs = {} }: { prepare?(root: string): void; programs?: Record<string, string> } = {},
): Promise<Ended> {
  const { answers, ending, isInside } = installers[os];
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: os });
  const { text: script } = await lab.from(here, '/boot/52-54-00-00-00-01.ipxe');
  const [path = ''] = /\/boot\/answer\/n1\/[\w-]+\//.exec(script) ?? [];
  const commands = ending((await lab.from(here, path + answers)).text);
  const directory = temporaryDirectory();
  try {
    const root = join(directory, 'target/root');
    mkdirSync(root, { recursive: true });
    prepare(root);
    const entering = `while [ "$1" != sh ]; do shift; done
exec unshare --mount sh -c '${enter(root)}exec "$@"' sh "$@"`;
    const played = {
      'in-target': entering,
      curtin: entering,
      sleep: `echo "$1" >>${directory}/slept; [ "$1" != 3600 ]`,
      ...programs,
    };
    for (const [name, text] of Object.entries(played))
      file(join(directory, 'programs', name), `#!/bin/sh\n${text}\n`, 0o755);
    const moved = commands.map((line) =>
      line
        .replaceAll(/(?<= )\/target\b/g, `${directory}/target`)
        .replaceAll(/\/(tmp|run)\/finish/g, `${directory}/finish`),
    );
    // Each command on its own, up to the first that fails.
    const body = isInside ? enter(root) + commands.join('\n') : moved.map((line) => `(${line}) || exit 1`).join('\n');
    const start = file(join(directory, 'end.sh'), `PATH=${directory}/programs:$PATH\n${body}\n`);
    const { code, errors } = await promisify(execFile)('unshare', ['--mount', 'sh', start]).then(
      () => ({ code: 0, errors: '' }),
      (error: { code: number; stderr: string }) => ({ code: error.code, errors: error.stderr }),
    );
    const slept = existsSync(`${directory}/slept`) ? readFileSync(`${directory}/slept`, 'utf8').trim().split('\n') : [];
    return { code, errors, slept, left: readdirSync(root).sort() };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const currstate = async (): Promise<string> => (await lab.server.ok('GET', '/nodes/n1/attrs/currstate')).n1.currstate;
const why = async (): Promise<string> => (await lab.server.ok('GET', '/nodes/n1/boot')).n1.why;

describe.each(Object.keys(installers) as System[])('the end of an installation of %s', (os) => {
  it('reports that the node is installed if the script of the new system succeeded', async () => {
    const { code, errors, slept, left } = await finish(os);
    expect({ code, errors, slept, left }).toEqual({ code: 0, errors: '', slept: [], left: ['.ssh'] });
    expect(await currstate()).toBe('boot');
  });

  it('reports what went wrong if it failed, and the installer stops', async () => {
    const { code, errors, slept, left } = await finish(os, { prepare: (root) => file(join(root, '.ssh'), '') });
    expect(await why()).toMatch(
      /It failed \d+ seconds ago: installed\.sh stopped: mkdir: .*\/root\/\.ssh.*File exists\./,
    );
    expect(await currstate()).toBe(`install ${os}-x86_64-compute`);
    expect(left).toEqual(['.ssh', 'installed.log', 'installed.sh']);
    // AutoYaST would go on whatever its script says.
    if (os === 'sles15.6') expect(slept).toEqual(['3600']);
    else
      expect({ code, errors }).toEqual({
        code: 1,
        errors: expect.stringContaining('muster: installed.sh stopped') as string,
      });
  });
});

it('a report that nobody takes is sent again for ten minutes, then the installer stops', async () => {
  const curl = `case "$*" in *--data-binary*) exit 7 ;; esac\nPATH=\${PATH#*:}\nexec curl "$@"`;
  const { code, errors, slept } = await finish('rocky9.6', { programs: { curl } });
  expect(code).toBe(1);
  expect(errors).toContain('the server did not take the report');
  expect(slept).toEqual(Array.from({ length: 59 }, () => '10'));
  expect(await currstate()).toBe('install rocky9.6-x86_64-compute');
});

it('the first of several reports of a failure is the cause', async () => {
  await lab.server.ok('PUT', '/nodes/n1/bootstate', { osimage: 'rocky9.6' });
  const { text } = await lab.from(here, '/boot/52-54-00-00-00-01.ipxe');
  const path = /\/boot\/answer\/n1\/[\w-]+\//.exec(text)![0].replace('/answer/', '/report/').replace(/\/$/, '');
  for (const body of ['installing', 'failed installed.sh stopped: full', 'failed the installer stopped'])
    expect((await lab.from(here, path, { method: 'POST', body })).status).toBe(204);
  expect(await why()).toContain('installed.sh stopped: full');
  // The next boot shows it in the history.
  await lab.from(here, '/boot/52-54-00-00-00-01.ipxe');
  const { n1 } = await lab.server.ok('GET', '/nodes/n1/boot');
  expect((n1.history as string[]).at(-1)).toContain('installed.sh stopped: full');
});
