import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { Fault } from '../core/errors.ts';

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
    throw new Fault('unavailable', `The program tar failed: ${reason}.`);
  }
  return printed;
}
