import { Fault } from '../../core/errors.ts';

/**
 * Thousands of requests wait on one signal, and an AbortSignal searches its listeners one by one: each signal gets one
 * listener, and a set of what it has to call.
 */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls when the signal is aborted, unless the returned function was called before. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  let calls = waiting.get(signal);
  if (!calls) {
    const all = new Set<() => void>();
    calls = all;
    waiting.set(signal, all);
    signal.addEventListener('abort', () => all.forEach((one) => one()), { once: true });
  }
  const mine = calls;
  mine.add(call);
  return () => void mine.delete(call);
}

export function abortFault(signal: AbortSignal): Fault {
  if (signal.reason instanceof Fault) return signal.reason;
  return new Fault('deadline', 'its service processor did not finish in the time allowed.', { cause: signal.reason });
}

/** The result of work that goes on by itself, or the end of the waiting for it. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(abortFault(signal));
  return new Promise<T>((resolve, reject) => {
    const ignore = onAbort(signal, () => reject(abortFault(signal)));
    work.then(resolve, reject).finally(ignore);
  });
}

export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.reject(abortFault(signal));
  return new Promise((resolve, reject) => {
    const ignore = onAbort(signal, () => {
      clearTimeout(timer);
      reject(abortFault(signal));
    });
    const timer = setTimeout(() => {
      ignore();
      resolve();
    }, milliseconds);
  });
}
