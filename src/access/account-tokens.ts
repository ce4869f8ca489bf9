import { SortedMap } from '../database/sorted-map.ts';
import type { Row } from '../database/tables.ts';

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
