import { Fault } from '../core/errors.ts';
import { InDoubt } from '../database/database.ts';

/** For the failure of what is written before anything else is done: the reply says that another server may be asked. */
export function nothingDone(error: unknown): never {
  if (!(error instanceof Fault) || error instanceof InDoubt) throw error;
  const { kind, sentences, retryAfter, cause } = error;
  if (kind !== 'unavailable' || retryAfter === undefined) throw error;
  throw new Fault(kind, sentences, { retryAfter, nothingDone: true, ...(cause !== undefined && { cause }) });
}
