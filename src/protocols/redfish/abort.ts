import { Fault } from '../../core/errors.ts';
import * as waiting from '../../core/waiting.ts';

export { onAbort } from '../../core/waiting.ts';

export const abortFault: waiting.AbortWords = (signal) => {
  if (signal.reason instanceof Fault) return signal.reason;
  return new Fault('deadline', 'its BMC did not finish in the time allowed.', { cause: signal.reason });
};

export const unlessAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  waiting.unlessAborted(work, signal, abortFault);

export const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  waiting.pause(milliseconds, signal, abortFault);
