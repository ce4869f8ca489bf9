import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** A process of a lab. It ends with the process that started it, however that one ends. */
export interface LabChild {
  readonly process: ChildProcess;
  readonly log: () => string;
  /** Asks it to end and waits; after three seconds it is killed. */
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly directory: string;
  /** Takes standard error, and standard output too unless that is piped. */
  readonly logFile: string;
  readonly channel?: boolean;
}

export function startChild(program: string, args: readonly string[], options: ChildOptions): LabChild {
  const { directory, logFile, channel = false } = options;
  const log = openSync(logFile, 'a');
  // setpriv is part of every Debian: the kernel ends the child when we are gone, even after SIGKILL.
  const child = spawn('setpriv', ['--pdeathsig', 'TERM', program, ...args], {
    cwd: directory,
    // A group of its own: Ctrl-C is for us, and we end the child in order.
    detached: true,
    stdio: channel ? ['ignore', log, log, 'ipc'] : ['ignore', log, log],
  });
  closeSync(log);
  child.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    process: child,
    log: () => readFileSync(logFile, 'utf8'),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
      child.kill('SIGTERM');
      const timeout = setTimeout(() => child.kill('SIGKILL'), 3_000);
      await ended;
      clearTimeout(timeout);
    },
  };
}

export const hasEnded = ({ process: child }: LabChild): boolean =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null;

/** Waits until it has written a text. */
export async function said(child: LabChild, text: string): Promise<void> {
  while (!child.log().includes(text)) {
    if (hasEnded(child)) throw new Error(`It ended before it said "${text}":\n${child.log()}`);
    await pause(20);
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
