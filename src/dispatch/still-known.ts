import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isStillKnown } from '../objects/accounts.ts';
import type { Request } from './request.ts';

/** Refuses a request whose sender another server would refuse by now: the token was ended, or the password changed, while it was on its way. */
export function checkStillKnown(snapshot: Snapshot, request: Pick<Request, 'user' | 'token' | 'login'>): void {
  if (isStillKnown(snapshot, request)) return;
  throw new Fault('unauthenticated', [
    'Authentication failure',
    'The token or the password was changed at another server meanwhile; log in again.',
  ]);
}
