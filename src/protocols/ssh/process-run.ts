import type { ChildProcess } from 'node:child_process';
import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import type { Fault } from '../../core/errors.ts';
import { abortFault, commandTimeoutFault, passingFault, unstartedFault } from './faults.ts';
import { type ExecOptions, feed, type Output } from './transport.ts';

/** What the ssh program exits with when it has failed itself, though a command may do so too. */
export const ownFailure = 255;
/** Milliseconds between two looks at what the process has left in files. */
const glance = 100;

export interface SshRun {
  readonly child: ChildProcess;
  isConnected(): boolean;
  /** Whether the host fills the log, and what to say then. */
  isFlooded(): boolean;
  readonly flood: Fault;
  /** Milliseconds until it must be connected, and what to say when it is not. */
  readonly connectTimeout: number;
  readonly late: Fault;
  /** Ends what runs on the node, then the process. */
  kill(): void;
}

/** Passes input and output of an ssh process on, and waits for its end; the answer is its exit code. */
export function awaitRun(run: SshRun, output: Output, options: ExecOptions): Promise<number> {
  const { child } = run;
  const { signal, commandTimeout, stdin } = options;
  return new Promise((resolve, reject) => {
    let over = false;
    const stop = (error: unknown): void => {
      if (over) return;
      leave();
      reject(passingFault(error));
      child.stdout?.removeAllListeners('data').resume();
      child.stderr?.removeAllListeners('data').resume();
      run.kill();
    };
    const watch = { aborted: (): void => stop(abortFault(signal)) };
    let timer = setTimeout(() => stop(run.late), run.connectTimeout);
    let connected = false;
    const looking = setInterval(() => {
      if (run.isFlooded()) {
        child.kill('SIGKILL');
        stop(run.flood);
      }
      if (over || connected || !run.isConnected()) return;
      connected = true;
      clearTimeout(timer);
      if (commandTimeout === undefined) return;
      timer = setTimeout(() => stop(commandTimeoutFault(commandTimeout)), commandTimeout);
    }, glance);
    const leave = (): void => {
      over = true;
      clearInterval(looking);
      clearTimeout(timer);
      unwatchAbort(signal, watch);
    };
    watchAbort(signal, watch);
    passOn(child, output, stop);
    child.once('error', (error) => stop(unstartedFault(error)));
    child.once('close', (code) => {
      leave();
      resolve(code ?? ownFailure);
    });
    feed(child.stdin!, stdin, () => over).catch(stop);
    // It may have been meanwhile, before anybody watched.
    if (signal.aborted) watch.aborted();
  });
}

/** Reads no more of a stream until what came is taken. */
function passOn(child: ChildProcess, output: Output, failed: (error: unknown) => void): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = child[name]!;
    stream.on('data', (chunk: Buffer) => {
      try {
        const taken = output[name](chunk);
        if (taken === undefined) return;
        stream.pause();
        taken.then(() => stream.resume(), failed);
      } catch (error) {
        failed(error);
      }
    });
  }
}
