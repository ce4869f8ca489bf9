import { unwatchAbort, watchAbort } from '../core/waiting.ts';

/** Waits; an abort ends the waiting early. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      unwatchAbort(signal, waiting);
      resolve();
    };
    const waiting = { aborted: end };
    const timer = setTimeout(end, milliseconds);
    watchAbort(signal, waiting);
  });
}
