import { isDeepStrictEqual } from 'node:util';
import { hashPassword, isCryptHash } from '../access/crypt.ts';
import type { SecretBox } from '../access/secrets.ts';
import { readLifetime } from '../access/tokens.ts';
import { cachedBy } from '../core/cache.ts';
import type { JournalChanges } from '../database/changeset.ts';
import type { ChangeSet, JournalEntry } from '../database/database.ts';
import { type Draft, redacted, type Seal } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { SortedMap } from '../database/sorted-map.ts';
import { isEnabled, keyOf, type Row, tableNamed } from '../database/tables.ts';

/** The `passwd` key whose rows are the accounts of this service. */
export const accountKey = 'xcat';

const accountPrefix = keyOf(tableNamed('passwd'), { key: accountKey });

/** The storage key of an account's row, and whose it is. */
export const accountRowKey = (name: string): string => accountPrefix + name;
const accountOfKey = (key: string): string | undefined =>
  key.startsWith(accountPrefix) ? key.slice(accountPrefix.length) : undefined;

/** Whose row of table passwd it is; undefined if it counts for nothing. */
export const accountRow = (snapshot: Snapshot, name: string): Row | undefined => {
  const row = snapshot.get('passwd', accountRowKey(name));
  return row && isEnabled(row) ? row : undefined;
};

/** An account that may log in, wherever it comes from. */
export interface KnownAccount {
  /** What has to stay as it is for a login to stay good: the stored hash, or whom the source means by the name. */
  readonly login: string | undefined;
  /** Empty: table passwd; else the name of a source of the site's accounts. */
  readonly source: string;
  /** Its groups there, as rules name them. */
  readonly groups: readonly string[];
}

/** The account of this name. A row of table passwd counts before all others, also one that is disabled. */
export function knownAccount(snapshot: Snapshot, name: string): KnownAccount | undefined {
  const own = snapshot.get('passwd', accountRowKey(name));
  if (own) return isEnabled(own) ? { login: own['password'], source: '', groups: none } : undefined;
  const row = snapshot.get('siteaccount', name);
  return row && isEnabled(row) ? siteAccount(row) : undefined;
}

const none: readonly string[] = [];

const siteAccount = cachedBy(({ source = '', id = '', groups = '' }: Row): KnownAccount => {
  return { login: `${source} ${id}`, source, groups: groups === '' ? none : groups.split(',') };
});

/** The groups of an account: those that its source gives it. Accounts of table passwd have none. */
export const groupsOf = (snapshot: Snapshot, user: string): readonly string[] =>
  snapshot.rows('siteaccount').size === 0 ? none : (knownAccount(snapshot, user)?.groups ?? none);

/** Who sent a request, and what that was checked with. */
export interface CheckedUser {
  readonly user: string;
  /** The hash of the token. */
  readonly token: string | undefined;
  /** `login` of the account that the password was checked with; without this and a token the account alone counts. */
  readonly login: string | undefined;
}

/** Whether that would be found right in another state too: another server may have ended the token or changed the password since. */
export function isStillKnown(snapshot: Snapshot, { user, token, login }: CheckedUser): boolean {
  const account = knownAccount(snapshot, user);
  if (!account) return false;
  if (token === undefined) return login === undefined || account.login === login;
  const row = snapshot.get('token', token);
  return row?.['username'] === user && isEnabled(row);
}

/** The accounts of table passwd. Others are the site's, which may take them away at any time. */
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

/**
 * Accounts that were made or removed on the way from one state to the next, with the revision: who has the name afterwards is somebody
 * else. `sets` lead there; where they are not known, `skipped` is what the journal says of accounts, and without that any may be another's.
 */
export function accountsTurnedOver(
  was: Snapshot,
  current: Snapshot,
  sets: readonly ChangeSet[] | undefined,
  skipped: readonly JournalEntry[] | undefined,
): (readonly [account: string, revision: number])[] {
  if (sets)
    return sets.flatMap(({ changes, journal }) =>
      turnoversIn(changes).map((account) => [account, journal?.revision ?? current.revision] as const),
    );
  const tables = Object.entries(accountTables);
  if (!skipped)
    return tables.flatMap(([name, { accountIn }]) =>
      [...was.rows(name).keys(), ...current.rows(name).keys()].flatMap((key) => {
        const account = accountIn(key);
        return account === undefined ? [] : [[account, current.revision] as const];
      }),
    );
  const unexplained = tables.flatMap(([name, { accountIn, isSame }]) => {
    const explained = new Set(skipped.flatMap(({ changes }) => (changes[name] ?? []).map(([key]) => key)));
    const [before, after] = [was.rows(name), current.rows(name)];
    // What differs without an entry was changed in another past, as in a database that was restored.
    return [...SortedMap.changedKeys(before, after)].flatMap((key) =>
      explained.has(key) || isSame(before.get(key), after.get(key)) ? [] : (accountIn(key) ?? []),
    );
  });
  return [
    ...skipped.flatMap(({ changes, revision }) => turnoversIn(changes).map((account) => [account, revision] as const)),
    ...unexplained.map((account) => [account, current.revision] as const),
  ];
}

/** The tables that accounts are in: whose row it is, and whether two states of a row are of the same person. */
const accountTables = {
  passwd: { accountIn: accountOfKey, isSame: (a: Row | undefined, b: Row | undefined) => isDeepStrictEqual(a, b) },
  siteaccount: {
    accountIn: (key: string): string | undefined => key,
    isSame: (a: Row | undefined, b: Row | undefined) => a?.['source'] === b?.['source'] && a?.['id'] === b?.['id'],
  },
} as const;

/** Accounts that these changes made or removed, or gave to another person of the same name. */
export const turnoversIn = (changes: JournalChanges): string[] => [
  ...(changes['passwd'] ?? []).flatMap(([key, before, after]) =>
    before === null || after === null ? (accountOfKey(key) ?? []) : [],
  ),
  ...(changes['siteaccount'] ?? []).flatMap(([key, before, after]) =>
    before === null || after === null || 'id' in after || 'source' in after ? key : [],
  ),
];

/** The tables whose journal says what `turnoversIn` looks for. */
export const turnoverTables: readonly string[] = Object.keys(accountTables);

/** The reference system stores any text here; who writes one that means nothing gets a note. */
export function lifetimeMessages(draft: Draft): string[] {
  const value = draft.get('site', 'tokenexpiredays')?.['value'];
  const isNew = value !== draft.base.get('site', 'tokenexpiredays')?.['value'];
  if (!value || !isNew || readLifetime(value) !== undefined) return [];
  return [`Site attribute tokenexpiredays: "${value}" is neither a number of days nor never; tokens live for one day.`];
}
