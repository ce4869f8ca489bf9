import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const checkout = join(import.meta.dirname, '../..');

/** What a file of tests may leave behind in its process for the next one: children, sockets, an environment, functions that were replaced. */
const leaves =
  /'node:(child_process|cluster|dgram|https?|net|tls|worker_threads)'|'undici'|\bglobalThis\b|\bprocess\.(chdir|env|on|umask)\b|\bvi\./;

/** These only read the environment, and wait for the programs that they start. */
const harmless = ['test/harness/postgresql.ts'];

const seen = new Map<string, boolean>(harmless.map((file) => [join(checkout, file), true]));

/** What a file imports from test/. */
const importsOf = (file: string, text: string): string[] =>
  [...text.matchAll(/from '(\.{1,2}\/[^']+\.ts)'/g)]
    .map(([, path]) => resolve(dirname(file), path!))
    .filter((path) => path.startsWith(`${checkout}/test/`));

/** Whether the file and all that it imports from test/ leave nothing behind. */
function leavesNothing(file: string): boolean {
  const known = seen.get(file);
  if (known !== undefined) return known;
  seen.set(file, true);
  const text = readFileSync(file, 'utf8');
  const clean = !leaves.test(text) && importsOf(file, text).every(leavesNothing);
  seen.set(file, clean);
  return clean;
}

/** Whether the file needs machines of the lab, whose addresses are fixed: it cannot run twice at once. */
function usesLab(file: string, known = new Set<string>()): boolean {
  if (known.has(file)) return false;
  known.add(file);
  if (/\/test\/lab\/(?:bound|bmc|dhcp|kea|libvirt|light-bmc|netboot\/(?!door)|oci|redfish|slp|snmp|ssh|vm)/.test(file))
    return true;
  return importsOf(file, readFileSync(file, 'utf8')).some((path) => usesLab(path, known));
}

const allFiles = (): string[] => globSync('test/**/*.test.ts', { cwd: checkout });

/** Files of tests that can share a process: starting one for each would take longer than most of them. */
export const sharingFiles = (): string[] => allFiles().filter((file) => leavesNothing(join(checkout, file)));

/** Files that look into the file of SQLite, or work on it, and have nothing to look at in PostgreSQL. */
const isAboutSqlite = (file: string): boolean =>
  /^test\/(admin|database|process)\/|^test\/first-start/.test(file) ||
  /better-sqlite3|\boutside\(|muster\.sqlite|'backup'/.test(readFileSync(join(checkout, file), 'utf8'));

/** Files of tests that run on PostgreSQL too. */
export const postgresFiles = (): string[] => allFiles().filter((file) => !isAboutSqlite(file));

/** The third of them that always does: the service as its clients see it. */
export const chosenPostgresFiles = (): string[] =>
  postgresFiles().filter((file) => /^test\/(dispatch|events|rest)\//.test(file) && !usesLab(join(checkout, file)));

/**
 * What takes minutes: one that began among the last would be waited for alone. Files that boot machines keep a processor busy each, and
 * stand between others.
 */
export const longest: readonly RegExp[] = [
  /^test\/boot\/end-to-end/,
  /\/gen-(debian|rpm)\.test/,
  /^test\/boot\/(ramdisk|debian-installer)\.test/,
  /^test\/cli\/replay-/,
  /^test\/packaging\//,
  /^test\/boot\/(ipv6-firmware|other-architecture|uefi-disk)\.test/,
  /^test\/docs\/(boot|images|machines|names)\.test/,
  /^test\/bus\/(boot-machine|hardware|networks)\.test/,
  /^test\/(remote|update)\/many\.test/,
  /\/(crash|kill|long-work-kill)\.test/,
  /\/lab\.test/,
];

/** The place of a file among the longest. */
export function placeOf(file: string): number {
  const index = longest.findIndex((pattern) => pattern.test(relative(checkout, file)));
  return index < 0 ? longest.length : index;
}
