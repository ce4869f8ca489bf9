import { Fault } from '../../core/errors.ts';
import { within } from '../../core/waiting.ts';

/** Many small answers, of which each may take its time: an event log of 65,535 entries, for instance. */
const longestReading = 600_000;

/** Reads what takes as many requests as the service processor likes. */
export function boundedReading<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const seconds = longestReading / 1_000;
  const late = (): Fault =>
    new Fault('deadline', `its service processor answered, but had not told all there was to ask after ${seconds} s.`);
  return within(longestReading, late, signal, work);
}
