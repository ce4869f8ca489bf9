import type { ChildProcess } from 'node:child_process';
import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import { abortFault, commandDeadlineFault, passingFault, unstartedFault } from './faults.ts';
import { defaultConnectDeadline, type ExecOptions, type Exit, type Output } from './transport.ts';

/** What the ssh program exits with when it has failed itself, though a command may do so too. */
export const ownFailure = 255;
/** Milliseconds from asking it to end to killing it. */
const mercy = 1_000;

/** Passes input and output of an ssh process on, and waits for its end. */
export function runChild(child: ChildProcess, output: Output, options: ExecOptions): Promise<Exit> {
  const { signal, connectDeadline = defaultConnectDeadline, commandDeadline, stdin } = options;
  return new Promise((resolve, reject) => {
    const stop = (error: Error): void => {
      leave();
      reject(passingFault(error));
      child.kill('SIGTERM');
      setTimeout(() => child.kill('SIGKILL'), mercy).unref();
      child.stdout?.removeAllListeners('data').resume();
      child.stderr?.removeAllListeners('data').resume();
    };
    const watch = { aborted: (): void => stop(abortFault(signal)) };
    const timer =
      commandDeadline === undefined
        ? undefined
        : setTimeout(() => stop(commandDeadlineFault(commandDeadline)), connectDeadline + commandDeadline);
    const leave = (): void => {
      clearTimeout(timer);
      unwatchAbort(signal, watch);
    };
    watchAbort(signal, watch);
    for (const name of ['stdout', 'stderr'] as const) {
      const stream = child[name]!;
      stream.on('data', (chunk: Buffer) => {
        try {
          const taken = output[name](chunk);
          if (taken === undefined) return;
          stream.pause();
          taken.then(() => stream.resume(), stop);
        } catch (error) {
          stop(error as Error);
        }
      });
    }
    child.once('error', (error) => stop(unstartedFault(error)));
    child.once('close', (code) => {
      leave();
      resolve({ code: code ?? ownFailure, signal: undefined });
    });
    feed(child, stdin).catch(stop);
  });
}

async function feed({ stdin }: ChildProcess, input: ExecOptions['stdin']): Promise<void> {
  if (input === undefined || typeof input === 'string' || input instanceof Uint8Array) {
    stdin!.end(input);
    return;
  }
  for await (const chunk of input) {
    if (stdin!.destroyed) return;
    if (!stdin!.write(chunk)) {
      await new Promise((resolve) => stdin!.once('drain', resolve).once('close', resolve));
    }
  }
  stdin!.end();
}
