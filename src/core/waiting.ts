import { Fault } from './errors.ts';

/** One listener for all who wait on a signal: with thousands of listeners, taking one off means walking through all of them. */
export interface Abortable {
  aborted(): void;
}

const waitingFor = new WeakMap<AbortSignal, Set<Abortable>>();

export function watchAbort(signal: AbortSignal, one: Abortable): void {
  let all = waitingFor.get(signal);
  if (all === undefined) {
    const set = new Set<Abortable>();
    all = set;
    waitingFor.set(signal, set);
    signal.addEventListener('abort', () => [...set].forEach((each) => each.aborted()), { once: true });
  }
  all.add(one);
}

export function unwatchAbort(signal: AbortSignal, one: Abortable): void {
  waitingFor.get(signal)?.delete(one);
}

/** Lets one piece of work run at a time, in the order they came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => {});
    return result;
  }
}

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
