import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import type { Fault } from '../../core/errors.ts';

/** Does work of many steps that has one deadline for all of them; when it passes, what goes on ends with the Fault. */
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
