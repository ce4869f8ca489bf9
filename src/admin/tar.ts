import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { Fault } from '../core/errors.ts';

/** What tar says when there is no room; of a part that still fitted in it says only how long that was. */
const noRoom = /No space left on device|Disk quota exceeded|Wrote only \d+ of \d+ bytes/;

/** Runs tar with the archive on a standard stream, so that no file name is read as an option or a host. Resolves with what it printed. */
export async function runTar(args: string[], { input, output }: { input?: number; output?: number }): Promise<string> {
  const child = spawn('tar', args, {
    stdio: [input ?? 'ignore', output ?? 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, LC_ALL: 'C' },
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [status, printed, complaints] = await Promise.all([
    ended.catch((error: Error) => {
      throw new Fault('unavailable', `The program tar cannot be run: ${error.message}.`);
    }),
    child.stdout === null ? '' : text(child.stdout),
    child.stderr === null ? '' : text(child.stderr),
  ]);
  if (status !== 0) {
    const reason = complaints.trim().split('\n')[0] || `it ended with status ${status}`;
    const sentence = `The program tar failed: ${reason}.`;
    if (noRoom.test(complaints)) throw Object.assign(new Error(sentence), { code: 'ENOSPC' });
    throw new Fault('unavailable', sentence);
  }
  return printed;
}
