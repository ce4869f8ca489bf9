import { readdirSync, rmSync } from 'node:fs';
import { readOptional } from '../optional-file.ts';

/** Which process it is: a number alone may be somebody else's by now. */
export interface ProcessMark {
  readonly pid: number;
  /** In ticks since the machine was started; stays the same over exec. */
  readonly startTime: string;
}

/**
 * Run by sh before it becomes the daemon: the process notes itself in the file, so there is no moment in which it runs and nobody
 * would know after a crash. The file gets the kernel's line on the process, the arguments are the file and the daemon's command.
 */
export const markingScript = 'read -r line </proc/$$/stat && printf "%s\\n" "$line" >"$0" && exec "$@"';

/** Reads the kernel's line; the name in parentheses may hold anything, so it is read from behind. */
export function parseMark(line: string): ProcessMark | undefined {
  const end = line.lastIndexOf(')');
  const pid = /^\d+/.exec(line)?.[0];
  const fields = line.slice(end + 2).split(' ');
  const startTime = fields[19];
  if (end < 0 || !pid || !startTime || !/^\d+$/.test(startTime)) return undefined;
  return { pid: Number(pid), startTime };
}

export const readMark = (file: string): ProcessMark | undefined => parseMark(readOptional(file) ?? '');

export const removeMark = (file: string): void => rmSync(file, { force: true });

/** The process is still the marked one, and not a dead one that nobody has waited for. */
export function isAlive({ pid, startTime }: ProcessMark): boolean {
  const line = readOptional(`/proc/${pid}/stat`) ?? '';
  return parseMark(line)?.startTime === startTime && line[line.lastIndexOf(')') + 2] !== 'Z';
}

/** What the marked process has left behind in its session, of which it was the first: workers that nobody leads any more. */
export function remainsOf({ pid }: ProcessMark): ProcessMark[] {
  // It lives, or another process has its number by now.
  if (readOptional(`/proc/${pid}/stat`) !== undefined) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const line = readOptional(`/proc/${name}/stat`) ?? '';
      const session = line.slice(line.lastIndexOf(')') + 2).split(' ')[3];
      return session === String(pid) ? (parseMark(line) ?? []) : [];
    });
}

export const commandOf = ({ pid }: ProcessMark): readonly string[] =>
  (readOptional(`/proc/${pid}/cmdline`) ?? '').split('\0').slice(0, -1);
