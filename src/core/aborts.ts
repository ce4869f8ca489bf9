/** One listener for all who wait on a signal: with thousands of listeners, taking one off means walking through all of them. */
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
