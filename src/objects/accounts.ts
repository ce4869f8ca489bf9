import { hashPassword, isCryptHash } from '../access/crypt.ts';
import type { SecretBox } from '../access/secrets.ts';
import { readLifetime } from '../access/tokens.ts';
import type { JournalChanges } from '../database/changeset.ts';
import type { ChangeSet } from '../database/database.ts';
import { type Draft, redacted, type Seal } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { SortedMap } from '../database/sorted-map.ts';
import type { Store } from '../database/store.ts';
import { isEnabled, keyOf, type Row, tableNamed } from '../database/tables.ts';

/** The `passwd` key whose rows are the accounts of this service. */
export const accountKey = 'xcat';

const accountPrefix = keyOf(tableNamed('passwd'), { key: accountKey });

/** The storage key of an account's row, and whose it is. */
export const accountRowKey = (name: string): string => accountPrefix + name;
const accountOfKey = (key: string): string | undefined =>
  key.startsWith(accountPrefix) ? key.slice(accountPrefix.length) : undefined;

export const accountRow = (snapshot: Snapshot, name: string): Row | undefined => {
  const row = snapshot.get('passwd', accountRowKey(name));
  return row && isEnabled(row) ? row : undefined;
};

export function accountNames(snapshot: Snapshot): string[] {
  return snapshot
    .rows('passwd')
    .values()
    .flatMap((row) =>
      row['key'] === accountKey && row['username'] && row['password'] && isEnabled(row) ? row['username'] : [],
    );
}

/** What must be hashed before it is stored: an account's password in clear text. Hashes and redacted values stay. */
export async function hashedForAccounts(password: string): Promise<string> {
  if (password === '' || password === redacted || isCryptHash(password)) return password;
  return hashPassword(password);
}

/** Accounts' passwords are stored as crypt hashes, tokens as hashes, every other secret encrypted. */
export function sealer(box: SecretBox): Seal {
  return (table, column, clear, row) => {
    if (table.name === 'token') return clear;
    if (table.name === 'passwd' && row['key'] === accountKey) {
      if (!isCryptHash(clear)) throw new Error('An account password must be hashed before it is stored.');
      return clear;
    }
    return box.seal(clear, `${table.name}.${column}`);
  };
}

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

/** The reference system stores any text here; who writes one that means nothing gets a note. */
export function lifetimeMessages(draft: Draft): string[] {
  const value = draft.get('site', 'tokenexpiredays')?.['value'];
  const isNew = value !== draft.base.get('site', 'tokenexpiredays')?.['value'];
  if (!value || !isNew || readLifetime(value) !== undefined) return [];
  return [`Site attribute tokenexpiredays: "${value}" is neither a number of days nor never; tokens live for one day.`];
}
