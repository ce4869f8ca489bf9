/**
 * Thousands of requests may hang on one signal, and taking a listener off a signal means walking through all of them. So each
 * signal gets one listener for the set of those who wait on it.
 */
export interface Abortable {
  aborted(): void;
}

const waiting = new WeakMap<AbortSignal, Set<Abortable>>();

export function watchAbort(signal: AbortSignal, one: Abortable): void {
  let all = waiting.get(signal);
  if (all === undefined) {
    const set = new Set<Abortable>();
    all = set;
    waiting.set(signal, set);
    signal.addEventListener('abort', () => [...set].forEach((each) => each.aborted()), { once: true });
  }
  all.add(one);
}

export function unwatchAbort(signal: AbortSignal, one: Abortable): void {
  waiting.get(signal)?.delete(one);
}
