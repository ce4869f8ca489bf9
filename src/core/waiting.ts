import { unwatchAbort, watchAbort } from './aborts.ts';
import { Fault } from './errors.ts';

/** What somebody who waits hears when the signal is aborted. */
export type AbortWords = (signal: AbortSignal) => Fault;

export const cancelled: AbortWords = (signal) => {
  if (signal.reason instanceof Fault) return signal.reason;
  return new Fault('invalid', 'the command was cancelled.', { cause: signal.reason });
};

/** Calls when the signal is aborted, unless the returned function was called before. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  const waiting = { aborted: call };
  watchAbort(signal, waiting);
  return () => unwatchAbort(signal, waiting);
}

/** The result of work that goes on by itself, or the end of the waiting for it. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal, words = cancelled): Promise<T> {
  if (signal.aborted) return Promise.reject(words(signal));
  return new Promise<T>((resolve, reject) => {
    const ignore = onAbort(signal, () => reject(words(signal)));
    work.then(resolve, reject).finally(ignore);
  });
}

export function pause(milliseconds: number, signal: AbortSignal, words = cancelled): Promise<void> {
  if (signal.aborted) return Promise.reject(words(signal));
  return new Promise((resolve, reject) => {
    const ignore = onAbort(signal, () => {
      clearTimeout(timer);
      reject(words(signal));
    });
    const timer = setTimeout(() => {
      ignore();
      resolve();
    }, milliseconds);
  });
}

/** Does work of many steps that has one deadline for all of them; when it passes, what goes on ends with the Fault. */
export async function within<T>(
  milliseconds: number,
  late: () => Fault,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(late()), milliseconds);
  const end = (): void => controller.abort(signal.reason);
  const ignore = onAbort(signal, end);
  if (signal.aborted) end();
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    ignore();
  }
}
