// Which files of tests a change can reach: those that import what changed, and those that meet it in a server, which runs from dist/.
import { execFileSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { testFiles } from './files.ts';
import { checkout, importersOf, textOf } from './imports.ts';

/** For each room, what of test/ meets it in a server or a program. What has no row here is met everywhere. */
const met: Readonly<Record<string, readonly string[]>> = {
  'src/accounts': ['accounts', 'rest', 'policy'],
  'src/admin': ['admin', 'docs'],
  'src/boot': ['boot', 'bus/boot', 'cli/replay-boot', 'docs', 'packaging'],
  'src/bus': ['bus', 'worker', 'dispatch'],
  'src/cli': ['cli', 'docs', 'packaging'],
  'src/commands': ['commands', 'cli', 'dispatch', 'policy', 'rest'],
  'src/consoles': ['consoles', 'bus/consoles', 'cli/console', 'drivers', 'web/serial'],
  'src/drivers': ['drivers', 'hardware', 'bus/hardware', 'cli', 'vm', 'web'],
  'src/events': ['events', 'web', 'hardware'],
  'src/images': ['images', 'boot', 'cli', 'docs', 'rest/image', 'update'],
  'src/machines': ['vm', 'machines', 'web/machines'],
  'src/names': ['names', 'bus', 'docs', 'worker', 'boot/dhcp', 'boot/new-boots'],
  'src/noderange': ['noderange', 'cli', 'policy', 'rest'],
  'src/nodes': ['nodes', 'remote', 'update', 'bus', 'docs', 'hardware', 'rest', 'web'],
  'src/protocols/ipmi': ['protocols/ipmi', 'drivers', 'hardware', 'bus', 'cli', 'consoles'],
  'src/protocols/redfish': ['protocols/redfish', 'drivers', 'hardware', 'boot', 'cli', 'web'],
  'src/protocols/libvirt': ['protocols/libvirt', 'drivers', 'vm', 'web/machines'],
  'src/protocols/ssh': ['protocols/ssh', 'remote', 'update', 'vm', 'cli/replay-remote', 'bus/ssh'],
  'src/self-check': ['process/self-check', 'cli/doctor'],
  'src/work': ['work', 'images', 'process', 'rest/image', 'rest/long-work'],
  'src/worker': ['worker', 'bus'],
  web: ['web'],
  docs: ['docs', 'rest/docs', 'rest/manual'],
  share: ['boot', 'bus/boot', 'docs', 'update'],
  packaging: ['packaging'],
  bench: [],
  'README.md': ['docs'],
  'CHANGELOG.md': ['docs'],
};

/** The service as its clients see it, and the house: always. */
const always = ['rest/exchanges', 'scripts', 'suite'];

const startsWith = (path: string, places: readonly string[]): boolean =>
  places.some((place) => path.startsWith(`test/${place}`));

/** Whether a file of tests meets the changed one otherwise than by importing it; undefined where nobody knows. */
function meets(path: string, changed: string): boolean | undefined {
  // What nothing imports is started as a program, by something beside it.
  if (changed.startsWith('test/'))
    return changed.endsWith('.test.ts') ? false : startsWith(path, [changed.split('/')[1]!]);
  const room = Object.keys(met).find((name) => changed === name || changed.startsWith(`${name}/`));
  return room === undefined ? undefined : startsWith(path, met[room]!);
}

const sources = (): readonly string[] => globSync('{bench,scripts,src,test,web}/**/*.{ts,tsx}', { cwd: checkout });

/** What reads files of data by their names. */
function readersOf(changed: string, among: readonly string[]): readonly string[] {
  const data = /^test\/data\/([^/]+)/.exec(changed)?.[1];
  if (data === undefined) return [];
  const words = ['/', "'", '`'].map((before) => before + data);
  return among.filter((file) => words.some((word) => textOf(file).includes(word)));
}

const git = (...args: readonly string[]): readonly string[] =>
  execFileSync('git', args, { cwd: checkout, encoding: 'utf8', stdio: 'pipe' }).split('\n').filter(Boolean);

/** Files of tests that a change of these files can reach. */
export function reachedBy(changed: readonly string[]): readonly string[] {
  const among = sources();
  const importers = importersOf([...changed, ...changed.flatMap((each) => readersOf(each, among))], among);
  return testFiles().flatMap(({ path }) =>
    importers.has(path) || startsWith(path, always) || changed.some((each) => meets(path, each) ?? true) ? [path] : [],
  );
}

/** The same of what the working tree has other than a commit. */
export const reachedSince = (commit: string): readonly string[] =>
  reachedBy([...git('diff', '--name-only', commit, '--'), ...git('ls-files', '--others', '--exclude-standard')]);
