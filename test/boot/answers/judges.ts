import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { scratchDirectory } from '../../harness/store.ts';

/** Those who wrote the installers, with what they judge answers by. The commits are those that the tests were written with. */
const repositories = {
  pykickstart: ['pykickstart/pykickstart', '435ebbefdb5a2290fdea0b4ce648c5aba7651711'],
  // Of Ubuntu 24.04.
  subiquity: ['canonical/subiquity', '26bc08b694f1f70e07a69b620cbdf80a969bd1cb'],
  curtin: ['canonical/curtin', 'c66faffeea657c70374479d62fce32965ff7ac31'],
  probert: ['canonical/probert', '91a350e759067159faf72793aaed3280f38fdb6f'],
  'yast-autoinstallation': ['yast/yast-autoinstallation', 'e94d61ec2a87a853998e42bf359e9508fa1ce9f7'],
  'yast-network': ['yast/yast-network', '79966f880d9e920ac58b72009966b829f7fd6084'],
  'yast-users': ['yast/yast-users', 'd3b80a85181721c9381225c12de292f2f1215d74'],
  'yast-ntp-client': ['yast/yast-ntp-client', '6a32c55986806f180c6fdd6a7015ffcf9df5841d'],
  'yast-firewall': ['yast/yast-firewall', 'ece98713b566677c666fda514622b6a93503701d'],
  'yast-country': ['yast/yast-country', 'de4395086dcda927c7b3a831cd85082956d4b0bc'],
  'yast-services-manager': ['yast/yast-services-manager', '15debf6ab86f22a789040f41192400640b4f846d'],
  'yast-add-on': ['yast/yast-add-on', 'a9973dbdbe5bebe76bb80bf67ba53dd2fe9a16f9'],
} as const;
type Repository = keyof typeof repositories;

export const yastParts = Object.keys(repositories).filter((name) => name.startsWith('yast-')) as Repository[];

const fetched = scratchDirectory();
/** Where checkouts lie already, each called as its repository. */
const given = process.env['MUSTER_JUDGES'];

/** The directories of repositories; undefined, and the reason printed, if one cannot be had. */
export async function sources(...names: readonly Repository[]): Promise<Readonly<Record<string, string>> | undefined> {
  const found: Record<string, string> = {};
  for (const name of names) {
    try {
      found[name] = await directoryOf(name);
    } catch (error) {
      const reason = (error as { cause?: Error }).cause?.message ?? (error as Error).message;
      console.warn(
        `Answers are not judged by ${name}, which could not be had (${reason}). Name a directory with checkouts in MUSTER_JUDGES.`,
      );
      return undefined;
    }
  }
  return found;
}

async function directoryOf(name: Repository): Promise<string> {
  if (given !== undefined) {
    const directory = join(given, name);
    if (!existsSync(directory)) throw new Error(`there is no ${directory}`);
    return directory;
  }
  const [repository, commit] = repositories[name];
  const directory = join(fetched, name);
  const reply = await fetch(`https://codeload.github.com/${repository}/tar.gz/${commit}`, {
    signal: AbortSignal.timeout(60_000),
  });
  if (!reply.ok) throw new Error(`HTTP status ${reply.status}`);
  mkdirSync(directory);
  execFileSync('tar', ['-xz', '--strip-components=1', '-C', directory], {
    input: Buffer.from(await reply.arrayBuffer()),
  });
  return directory;
}

export const removeFetched = (): void => rmSync(fetched, { recursive: true });

/** Debian's Python: it has the modules of Debian's packages. */
const python = '/usr/bin/python3';

/** What a program prints about files that it refuses, in which they have the names that are given; empty: it takes them all. */
function refusals(
  texts: Readonly<Record<string, string>>,
  words: (files: readonly string[]) => readonly string[],
  path = '',
): string {
  const files = Object.entries(texts).map(([name, text]) => {
    const file = join(fetched, name.replaceAll(' ', '-'));
    writeFileSync(file, text);
    return file;
  });
  const [program = '', ...args] = words(files);
  const { status, stdout, stderr } = spawnSync(program, args, {
    env: { ...process.env, PYTHONPATH: path },
    encoding: 'utf8',
  });
  return status === 0 ? '' : (stdout || stderr).replaceAll(`${fetched}/`, '');
}

/** What the program of Anaconda's makers finds wrong. */
export const judgeKickstarts = (
  pykickstart: string,
  version: string,
  texts: Readonly<Record<string, string>>,
): string =>
  refusals(texts, (files) => [python, join(pykickstart, 'tools/ksvalidator.py'), '-v', version, ...files], pykickstart);

/** The schema of the whole profile, of the sections that our profiles have. */
export function autoyastSchema(parts: Readonly<Record<string, string>>): string {
  const directory = join(fetched, 'schema');
  mkdirSync(directory);
  const files = Object.values(parts).flatMap((part) => globSync(join(part, '**/autoyast-rnc/*.rnc')));
  execFileSync('cp', [...files, directory]);
  const sections =
    'general software partitioning scripts networking users ntpclient firewall timezone language services-manager add-on'.split(
      ' ',
    );
  const head =
    'default namespace = "http://www.suse.com/1.0/yast2ns"\nnamespace config = "http://www.suse.com/1.0/configns"\n';
  const includes = ['common', ...sections].map((name) => `include "${name}.rnc"\n`).join('');
  const elements = sections.map((name) => (name === 'ntpclient' ? 'ntp-client' : name)).join(' & ');
  const schema = join(directory, 'profile.rnc');
  writeFileSync(schema, `${head}${includes}start = element profile { ${elements} }\n`);
  return schema;
}

/** What is wrong with profiles by the schema. */
export const judgeProfiles = (schema: string, texts: Readonly<Record<string, string>>): string =>
  refusals(texts, (files) => ['jing', '-c', schema, ...files]);

/** What is wrong with each of the answer files by subiquity's own schema. */
export function judgeAutoinstalls(subiquity: string, all: readonly unknown[]): string[][] {
  const program = `
import json, sys, jsonschema
validator = jsonschema.Draft7Validator(json.load(open(sys.argv[1])))
print(json.dumps([[e.message for e in validator.iter_errors(each)] for each in json.load(sys.stdin)]))`;
  const schema = join(subiquity, 'autoinstall-schema.json');
  return JSON.parse(execFileSync(python, ['-c', program, schema], { input: JSON.stringify(all), encoding: 'utf8' }));
}

/** Played for subiquity: it logs and runs programs by systemd, and reports crashes to Ubuntu. */
const played: Readonly<Record<string, string>> = {
  'systemd-cat': 'while case $1 in --*) true ;; *) false ;; esac; do shift; done\nexec "$@"',
  'systemd-run': 'while [ "$1" != -- ]; do shift; done\nshift\nexec "$@"',
};

const modulesOf = (from: Readonly<Record<string, string>>, directory: string): string =>
  [...Object.values(from), directory].join(':');

/** Whether its server can run here; the reason is printed if it cannot. */
export function canPlanDisks(from: Readonly<Record<string, string>>): boolean {
  const directory = scratchDirectory();
  playCrashReports(directory);
  const { status, stderr } = spawnSync(python, ['-c', 'import subiquity.cmd.server, subiquity.server.server'], {
    env: { ...process.env, PYTHONPATH: modulesOf(from, directory) },
    encoding: 'utf8',
  });
  rmSync(directory, { recursive: true });
  if (status !== 0) console.warn(`subiquity does not plan disks here: ${stderr.trim().split('\n').at(-1)}.`);
  return status === 0;
}

function playCrashReports(directory: string): void {
  mkdirSync(join(directory, 'apport'), { recursive: true });
  for (const name of ['__init__', 'crashdb', 'hookutils']) writeFileSync(join(directory, `apport/${name}.py`), '');
}

/**
 * What subiquity hands to curtin for its disks: its server runs dry, on a machine that it knows from a file of its examples. Commands
 * would be run here and time zones are asked of systemd, so they are left out.
 */
export async function planDisks(
  from: Readonly<Record<string, string>>,
  machine: string,
  data: Readonly<Record<string, unknown>>,
): Promise<string> {
  const directory = scratchDirectory();
  const bin = join(directory, 'bin');
  playCrashReports(join(directory, 'modules'));
  mkdirSync(bin);
  for (const [name, text] of Object.entries(played)) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  const answers = join(directory, 'answers.yaml');
  const { 'early-commands': _early, 'late-commands': _late, 'error-commands': _error, timezone: _zone, ...rest } = data;
  writeFileSync(answers, JSON.stringify(rest));
  const options = {
    '--bootloader': 'uefi',
    '--machine-config': `examples/machines/${machine}.json`,
    '--autoinstall': answers,
  };
  const more = [
    '--kernel-cmdline',
    'autoinstall',
    '--source-catalog',
    'examples/sources/install.yaml',
    '--output-base',
    directory,
  ];
  const child = spawn(
    python,
    [
      '-m',
      'subiquity.cmd.server',
      '--dry-run',
      ...Object.entries(options).flat(),
      ...more,
      '--socket',
      join(directory, 'socket'),
    ],
    {
      cwd: from['subiquity'],
      env: {
        ...process.env,
        PATH: `${bin}:${process.env['PATH']}`,
        PYTHONPATH: modulesOf(from, join(directory, 'modules')),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const plan = join(directory, 'var/log/installer/curtin-install/subiquity-partitioning.conf');
  try {
    // It serves on after an error.
    while (!existsSync(plan)) {
      if (child.exitCode !== null || /: FAIL: /.test(output)) return output;
      await pause(200);
    }
    return readFileSync(plan, 'utf8');
  } finally {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  }
}
