import { globSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const checkout = join(import.meta.dirname, '../..');

/** What a file of tests may leave behind in its process for the next one: children, sockets, an environment, functions that were replaced. */
const leaves =
  /'node:(child_process|cluster|dgram|https?|net|tls|worker_threads)'|'undici'|\bglobalThis\b|\bprocess\.(chdir|env|on|umask)\b|\bvi\./;

const seen = new Map<string, boolean>();

/** Whether the file and all that it imports from test/ leave nothing behind. */
function leavesNothing(file: string): boolean {
  const known = seen.get(file);
  if (known !== undefined) return known;
  seen.set(file, true);
  const text = readFileSync(file, 'utf8');
  const imports = text.matchAll(/from '(\.{1,2}\/[^']+\.ts)'/g).map(([, path]) => resolve(dirname(file), path!));
  const clean =
    !leaves.test(text) && imports.filter((path) => path.startsWith(`${checkout}/test/`)).every(leavesNothing);
  seen.set(file, clean);
  return clean;
}

/** Files of tests that can share a process: starting one for each would take longer than most of them. */
export const sharingFiles = (): string[] =>
  globSync('test/**/*.test.ts', { cwd: checkout }).filter((file) => leavesNothing(join(checkout, file)));

/**
 * What takes minutes: one that began among the last would be waited for alone. Files that boot machines keep a processor busy each, and
 * stand between others.
 */
export const longest: readonly RegExp[] = [
  /^test\/boot\/end-to-end/,
  /\/gen-(debian|rpm)\.test/,
  /^test\/boot\/(ramdisk|debian-installer)\.test/,
  /^test\/cli\/replay-/,
  /^test\/boot\/(ipv6-firmware|other-architecture|uefi-disk)\.test/,
  /^test\/docs\/(boot|images|machines|names)\.test/,
  /^test\/(remote|update)\/many\.test/,
  /\/(crash|kill|long-work-kill)\.test/,
  /\/lab\.test/,
];

/** The place of a file among the longest. */
export function placeOf(file: string): number {
  const index = longest.findIndex((pattern) => pattern.test(relative(checkout, file)));
  return index < 0 ? longest.length : index;
}
