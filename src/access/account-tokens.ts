import { SortedMap } from '../database/sorted-map.ts';
import type { Row } from '../database/tables.ts';
import { parseExpiry } from './tokens.ts';

/** Whose tokens are whose, in the rows that were looked at last: what differs in the next ones is all that has to be looked at then. */
const latest = { rows: SortedMap.empty<Row>(), byAccount: new Map<string, Map<string, Row>>() };

/** The tokens of an account by their ids, among all of the table. */
export function tokensOf(rows: SortedMap<Row>, account: string): ReadonlyMap<string, Row> {
  const { byAccount } = latest;
  for (const id of SortedMap.changedKeys(latest.rows, rows)) {
    const before = latest.rows.get(id);
    if (before) byAccount.get(before['username'] ?? '')?.delete(id);
    const after = rows.get(id);
    if (!after) continue;
    const name = after['username'] ?? '';
    const own = byAccount.get(name);
    if (own) own.set(id, after);
    else byAccount.set(name, new Map([[id, after]]));
  }
  latest.rows = rows;
  return byAccount.get(account) ?? none;
}

const none: ReadonlyMap<string, Row> = new Map();

/** Of one account: three days of a script that takes one every minute. */
export const maximumTokens = 5_000;

/** What is left when there were too many: finding the oldest takes long, so many go at once. */
const roomy = 0.9;

/** The ids of an account's tokens that have to go so that it can have one more: expired ones, then those not used for longest. */
export function tokensToDrop(own: ReadonlyMap<string, Row>, now: number, most = maximumTokens): string[] {
  if (own.size < most) return [];
  const expired: string[] = [];
  const living: { readonly id: string; readonly used: number }[] = [];
  for (const [id, row] of own) {
    if (parseExpiry(row['expire'] ?? '') > now) living.push({ id, used: lastUse(row) });
    else expired.push(id);
  }
  const left = living.length < most ? living.length : Math.floor(most * roomy);
  const dropped = living.sort((a, b) => a.used - b.used).slice(0, living.length - left);
  return [...expired, ...dropped.map(({ id }) => id)];
}

/** What cannot be read is as good as never. */
const lastUse = ({ access, created = '' }: Row): number => parseExpiry(access ?? created) || 0;
