import { spawn } from 'node:child_process';
import { join } from 'node:path';

export const muster = join(import.meta.dirname, '../../bin/muster');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

type Env = Readonly<Record<string, string>>;

/** Runs a program with nothing of our own environment but PATH. */
export function ended(program: string, words: readonly string[], env: Env, input = ''): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { env: { PATH: process.env['PATH']!, ...env }, stdio: 'pipe' });
    const out = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].on('data', (chunk: Buffer) => (out[stream] += chunk.toString()));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, ...out }));
  });
}

export interface TerminalShape {
  readonly columns?: number;
  /** How many bytes it takes at a time. */
  readonly pieces?: number;
  /** A program that runs the command, which is its last words. */
  readonly through?: readonly string[];
}

/** The same at a terminal: after each text that is expected its answer is typed. */
export async function atTerminal(
  words: readonly string[],
  env: Env,
  steps: readonly (readonly [expected: string, typed: string])[] = [],
  { columns = 80, pieces = 65_536, through = [] }: TerminalShape = {},
): Promise<{ readonly code: number | null; readonly screen: string }> {
  const inside = { PATH: process.env['PATH']!, TERM: 'xterm', ...env };
  const task = JSON.stringify({ argv: [...through, muster, ...words], env: inside, steps, columns, pieces });
  const python = join(import.meta.dirname, 'at-terminal.py');
  const { code, stdout, stderr } = await ended('/usr/bin/python3', [python, task], env);
  if (stderr !== '') throw new Error(`${stderr}\n${stdout}`);
  return { code, screen: stdout.replaceAll('\r\n', '\n') };
}
