/** One listener for all who wait on a signal: with thousands of listeners, taking one off means walking through all of them. */
export interface Abortable {
  aborted(): void;
  /** Where it is among those who wait on its signal, and how many came before it on any; kept here. */
  place?: number;
  arrival?: number;
}

/** An array: a Set of few is laid out anew whenever its last one goes, and what it was laid out in before stays for long. */
const waiting = new WeakMap<AbortSignal, Abortable[]>();

let arrivals = 0;

/** Nobody waits on two signals at a time. All are told in the order in which they came. */
export function watchAbort(signal: AbortSignal, one: Abortable): void {
  let all = waiting.get(signal);
  if (all === undefined) {
    const list: Abortable[] = [];
    all = list;
    waiting.set(signal, list);
    signal.addEventListener('abort', () => inOrder(list).forEach((each) => each.aborted()), { once: true });
  }
  one.place = all.length;
  one.arrival = arrivals++;
  all.push(one);
}

export function unwatchAbort(signal: AbortSignal, one: Abortable): void {
  const all = waiting.get(signal);
  const { place } = one;
  if (all === undefined || place === undefined || all[place] !== one) return;
  const last = all.pop()!;
  if (last !== one) {
    all[place] = last;
    last.place = place;
  }
}

/** Whoever leaves is replaced by the last, so that the list is not in order. */
const inOrder = (list: readonly Abortable[]): Abortable[] => list.toSorted((a, b) => a.arrival! - b.arrival!);
