import { hashPassword, isCryptHash } from '../access/crypt.ts';
import type { SecretBox } from '../access/secrets.ts';
import { redacted, type Seal } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled, keyOf, type Row, tableNamed } from '../database/tables.ts';

/** The `passwd` key whose rows are the accounts of this service. */
export const accountKey = 'xcat';

const accountPrefix = keyOf(tableNamed('passwd'), { key: accountKey });

/** The storage key of an account's row, and whose it is. */
export const accountRowKey = (name: string): string => accountPrefix + name;
export const accountOfKey = (key: string): string | undefined =>
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
