import type { JournalChanges } from '../database/changeset.ts';
import type { ChangeSet } from '../database/database.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { SortedMap } from '../database/sorted-map.ts';
import type { Store } from '../database/store.ts';
import { accountOfKey, accountRowKey } from './accounts.ts';

/** Accounts that were made or removed on the way from one state to the next: who has such a name afterwards is somebody else. */
export function accountsTurnedOver(was: Snapshot, current: Snapshot, sets: readonly ChangeSet[] | undefined): string[] {
  const keys = sets
    ? sets.flatMap(({ changes }) => turnedOver(changes))
    : [...SortedMap.changedKeys(was.rows('passwd'), current.rows('passwd'))].filter(
        (key) => !was.get('passwd', key) || !current.get('passwd', key),
      );
  return keys.flatMap((key) => accountOfKey(key) ?? []);
}

/** Whether the account that has the name now is the one that had it then (milliseconds). */
export async function isSameSince({ current, database }: Store, account: string, time: number): Promise<boolean> {
  const key = accountRowKey(account);
  const revision = await database.revisionAt(time);
  if (revision === undefined || !current.get('passwd', key)) return false;
  for await (const page of database.readJournal({ after: revision, until: current.revision, tables: ['passwd'] }))
    if (page.some(({ changes }) => turnedOver(changes).includes(key))) return false;
  return true;
}

const turnedOver = (changes: JournalChanges): string[] =>
  (changes['passwd'] ?? []).flatMap(([key, before, after]) => (before === null || after === null ? [key] : []));
