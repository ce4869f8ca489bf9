import { Refused } from '../client-errors.ts';
import type { Invocation } from '../invocation.ts';

/** These commands warn of unknown nodes on standard output. */
export function tellUnknown(error: unknown, { stdout }: Invocation, code: number): number {
  if (!(error instanceof Refused) || error.missing.length === 0) throw error;
  stdout.line(`Warning: Invalid nodes in noderange:${error.missing.join(',')}`);
  return code;
}
