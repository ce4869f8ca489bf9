import { spawn } from 'node:child_process';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { Fault } from '../../core/errors.ts';

/** The file of a program: a plain name in the directory, and no link leads out of it. */
export function programFile(directory: string | undefined, name: string): string {
  if (directory === undefined)
    throw new Fault(
      'invalid',
      'muster runs programs only from the directory in the setting hooks.directory, which is not set.',
    );
  const file = join(directory, name);
  try {
    const real = realpathSync(file);
    if (name.includes('/') || !real.startsWith(realpathSync(directory) + sep))
      throw new Error('it leads out of that directory');
    if (!statSync(real).isFile()) throw new Error('it is not a file');
    accessSync(real, constants.X_OK);
    return real;
  } catch (error) {
    throw new Fault('invalid', `${file} cannot be run: ${(error as Error).message}.`, { cause: error });
  }
}

const longestComplaint = 1_000;

/** Milliseconds that what a program has said may take to arrive once it has ended. */
const lastWords = 1_000;

/** Gives a program the events on its standard input; resolves when it has ended well. There is no shell on the way. */
export function runProgram(file: string, hook: string, body: string, milliseconds: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, [hook], {
      cwd: '/',
      env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
      stdio: ['pipe', 'ignore', 'pipe'],
      // A group of its own, so that what it has started ends with it.
      detached: true,
    });
    const late = setTimeout(() => endGroup(child.pid), milliseconds);
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      if (complaint.length < longestComplaint) complaint += chunk.toString();
    });
    child.once('error', (error) => {
      clearTimeout(late);
      reject(error);
    });
    // It need not read all, or anything.
    child.stdin.on('error', () => undefined);
    child.once('exit', (code, signal) => {
      clearTimeout(late);
      if (code !== 0) endGroup(child.pid);
      // Whoever holds its standard error open is not waited for.
      const silence = setTimeout(() => child.stderr.destroy(), lastWords);
      child.once('close', () => {
        clearTimeout(silence);
        if (code === 0) return resolve();
        const said = complaint.trim() === '' ? '' : `: ${complaint.trim().slice(0, longestComplaint)}`;
        reject(new Error(`the program ended with ${code ?? signal}${said}`));
      });
    });
    child.stdin.end(body);
  });
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
