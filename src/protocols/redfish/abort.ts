import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import { Fault } from '../../core/errors.ts';
import { sleep } from '../sleep.ts';

/** Calls when the signal is aborted, unless the returned function was called before. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  const waiting = { aborted: call };
  watchAbort(signal, waiting);
  return () => unwatchAbort(signal, waiting);
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

/** Waits; an abort ends the wait with a Fault. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, signal);
  if (signal.aborted) throw abortFault(signal);
}
