import { parseExpiry } from '../../access/tokens.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled } from '../../database/tables.ts';
import { accountRow } from '../../objects/accounts.ts';

/** How a caller has shown who it is. */
export interface Shown {
  readonly user: string;
  /** The hash of its token, if it used one. */
  readonly token: string | undefined;
  /** The stored hash that its password was checked with, if one was. */
  readonly login: string | undefined;
}

/** Whether that would still do. */
export function isStillKnown(snapshot: Snapshot, { user, token, login }: Shown): boolean {
  if (token !== undefined) {
    const row = snapshot.get('token', token);
    if (!row || !isEnabled(row) || row['username'] !== user || !(parseExpiry(row['expire'] ?? '') > Date.now()))
      return false;
  }
  const account = accountRow(snapshot, user);
  return login === undefined ? token === undefined || account !== undefined : account?.['password'] === login;
}
