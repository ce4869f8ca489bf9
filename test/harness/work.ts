import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { rmSync } from 'node:fs';
import { Fault } from '../../src/core/errors.ts';
import type { ProgramOptions, Work } from '../../src/work/messages.ts';

export interface DirectWork extends Work {
  readonly lines: string[];
  /** Every program that was run, with its arguments. */
  readonly programs: string[][];
  cancel(): void;
  /** Removes mounts and stagings, as the end of a run does. */
  end(): void;
}

/** What long work is given, in this process. */
export function directWork(
  options: { onProgram?(words: readonly string[]): void; hasOwnMounts?: boolean } = {},
): DirectWork {
  const abort = new AbortController();
  const lines: string[] = [];
  const programs: string[][] = [];
  const stagings: string[] = [];
  return {
    run: '00000000-0000-4000-8000-000000000000',
    signal: abort.signal,
    hasOwnMounts: options.hasOwnMounts ?? false,
    lines,
    programs,
    cancel: () => abort.abort(),
    end() {
      for (const words of programs) if (words[0] === 'mount') execFileSync('umount', ['--', words.at(-1)!]);
      for (const path of stagings) rmSync(path, { recursive: true, force: true });
    },
    tell: (line) => void lines.push(line),
    progress: () => {},
    async staging(beside) {
      const path = await mkdtemp(join(beside, '.muster-staging-'));
      stagings.push(path);
      return path;
    },
    async program(file, args, given = {}) {
      abort.signal.throwIfAborted();
      programs.push([file, ...args]);
      options.onProgram?.([file, ...args]);
      const code = await ended(file, args, given, abort.signal, (line) => lines.push(line));
      return { code };
    },
  };
}

async function ended(
  file: string,
  args: readonly string[],
  { cwd, env, input, network, output, stdout, expect = [0] }: ProgramOptions,
  signal: AbortSignal,
  tell: (line: string) => void,
): Promise<number> {
  const words = network ? [file, ...args] : ['unshare', '--net', '--', file, ...args];
  const child = spawn(words[0]!, words.slice(1), {
    cwd,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', ...env },
  });
  const stop = (): void => void process.kill(-child.pid!, 'SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  const last: string[] = [];
  const take = (line: string): void => {
    last.push(line);
    if (last.length > 10) last.shift();
    (output ?? tell)(line);
  };
  if (stdout) child.stdout.on('data', stdout);
  else createInterface(child.stdout).on('line', take);
  createInterface(child.stderr).on('line', take);
  child.stdin.on('error', () => {});
  if (input instanceof Readable) input.pipe(child.stdin);
  else child.stdin.end(input);
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 137));
  });
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  if (expect.includes(code)) return code;
  throw new Fault('invalid', `${file} ended with code ${code}: ${last.join(' / ')}`);
}
