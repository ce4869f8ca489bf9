// Ends files of tests that hang: a file that takes five times as long as usual costs minutes, not the time of the whole run.
import { existsSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Where the process of a file notes its number; nowhere unless `npm test` has made a place for it. */
export function noteOf(project: string, file: string): string | undefined {
  const notes = process.env['MUSTER_TEST_NOTES'];
  return notes && join(notes, `${project} ${file}`.replaceAll('/', ','));
}

/** A process and all that it has started. */
function family(pid: number): readonly number[] {
  const parents = globSync('/proc/[0-9]*/stat').flatMap((file) => {
    try {
      const [head, tail] = readFileSync(file, 'utf8').split(/ \(.*\) /s);
      return [[Number(head), Number(tail!.split(' ')[1])] as const];
    } catch {
      // It has ended.
      return [];
    }
  });
  const found = new Set([pid]);
  for (const each of found) for (const [child, parent] of parents) if (parent === each) found.add(child);
  return [...found];
}

/** Ends the process of a file, and what it has started; answers whether there was one that nobody has ended yet. */
export function endHung(project: string, file: string): boolean {
  const note = noteOf(project, file);
  if (note === undefined || !existsSync(note)) return false;
  const pid = Number(readFileSync(note, 'utf8'));
  rmSync(note);
  for (const each of family(pid)) {
    try {
      process.kill(each, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
  return true;
}
