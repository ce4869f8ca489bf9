import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** A program that runs until it is stopped. */
export interface Running {
  readonly pid: number;
  /** What it printed when it was ready, as the pattern matched it. */
  readonly ready: RegExpExecArray;
  /** Milliseconds from spawn to that. */
  readonly readyAfter: number;
  /** What it has printed so far. */
  output(): string;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The processor core it is bound to; all cores if it is left out. */
  readonly core?: number;
  readonly ready: RegExp;
}

export const serverCore = 0;
export const clientCore = 1;

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

function launch(command: readonly string[], core: number | undefined, env: Readonly<Record<string, string>> = {}) {
  const child = spawn('taskset', ['-c', coresText(core), ...command], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let output = '';
  const collect = (chunk: Buffer): void => {
    output += chunk.toString();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      children.delete(child);
      resolve(code);
    });
  });
  return { child, ended, output: () => output };
}

/** Starts a program and resolves when it has printed that it is ready. */
export async function start(command: readonly string[], { env, core, ready }: StartOptions): Promise<Running> {
  const began = performance.now();
  const { child, ended, output } = launch(command, core, env);
  const found = await new Promise<RegExpExecArray>((resolve, reject) => {
    const look = (): void => {
      const match = ready.exec(output());
      if (match) resolve(match);
    };
    child.stdout.on('data', look);
    child.stderr.on('data', look);
    ended.then((code) => reject(new Error(`${command.join(' ')} ended with ${code}:\n${output()}`)), reject);
  });
  const readyAfter = performance.now() - began;
  return {
    pid: child.pid!,
    ready: found,
    readyAfter,
    output,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A program of ours beside this one that does what it is asked by a message and answers with another. */
export interface Helper {
  ask(message: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

/** `idle`: it gets what others leave of the core. */
export function startHelper(program: string, core: number, { idle = false } = {}): Helper {
  const priority = idle ? ['chrt', '-i', '0'] : [];
  const child = spawn('taskset', ['-c', coresText(core), ...priority, process.execPath, program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  children.add(child);
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      children.delete(child);
      resolve();
    });
  });
  return {
    ask: (message) =>
      new Promise((resolve, reject) => {
        child.once('message', resolve);
        void ended.then(() => reject(new Error(`${program} has ended.`)));
        child.send(message as object);
      }),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Runs a program to its end and returns what it printed. */
export async function run(
  command: readonly string[],
  { core, env }: { core?: number; env?: Readonly<Record<string, string>> } = {},
): Promise<string> {
  const { ended, output } = launch(command, core, env);
  const code = await ended;
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${output()}`);
  return output();
}

/** Binds this process to a core, or lets it use all, and so what it starts from then on. */
export const bindTo = (core: number | undefined): Promise<string> =>
  run(['taskset', '-a', '-c', '-p', coresText(core), String(process.pid)]);

const coresText = (core: number | undefined): string => (core === undefined ? `0-${cpus().length - 1}` : String(core));

/** Milliseconds of processor time that all threads of a process have used, user and system. */
export function processorTime(pid: number): number {
  let nanoseconds = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    nanoseconds += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0]);
  }
  return nanoseconds / 1e6;
}

/** Mebibytes of memory: resident now and at its highest. */
export function memory(pid: number): { resident: number; highest: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  const value = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024;
  return { resident: value('VmRSS'), highest: value('VmHWM') };
}
