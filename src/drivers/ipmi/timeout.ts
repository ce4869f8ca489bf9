import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import { Fault } from '../../core/errors.ts';

/** Does work of many steps with one timeout for all of them; after it, what goes on ends with the Fault. */
export async function within<T>(
  milliseconds: number,
  late: () => Fault,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const outer = { aborted: () => controller.abort(signal.reason) };
  const timer = setTimeout(() => controller.abort(late()), milliseconds);
  if (signal.aborted) outer.aborted();
  else watchAbort(signal, outer);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    unwatchAbort(signal, outer);
  }
}

/** Many small answers, of which each may take its time: an event log of 65,535 entries, for instance. */
const longestReading = 600_000;

/** Reads what takes as many requests as the service processor likes. */
export function boundedReading<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const seconds = longestReading / 1_000;
  const late = (): Fault =>
    new Fault('deadline', `its service processor answered, but had not told all there was to ask after ${seconds} s.`);
  return within(longestReading, late, signal, work);
}
