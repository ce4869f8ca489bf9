import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { hashPassword } from './access/crypt.ts';
import type { Config } from './config.ts';
import { writeFileAtomically } from './core/files.ts';
import { ownOrigin } from './database/changeset.ts';
import { Draft, type Seal } from './database/draft.ts';
import type { Store } from './database/store.ts';
import { keyOf, tableNamed } from './database/tables.ts';
import { initialPasswordFile } from './initial-password.ts';
import { accountKey, accountNames } from './objects/accounts.ts';

/** Gives a database without accounts its first account and the rule that lets it do everything. */
export async function prepareFirstStart(store: Store, seal: Seal, { data, rootPassword }: Config): Promise<void> {
  // Only to spare every later start the hashing; whether it is the first is found out by the change.
  if (accountNames(store.current).length > 0) return;
  const generated = rootPassword === undefined ? randomBytes(18).toString('base64url') : undefined;
  const file = initialPasswordFile(data);
  if (generated !== undefined) writeFileAtomically(file, `${generated}\n`, 0o600);
  const password = await hashPassword((rootPassword ?? generated)!);
  let isFirst = false;
  await store.change(ownOrigin('first-start'), (head) => {
    const draft = new Draft(head, seal);
    isFirst = accountNames(head).length === 0;
    if (!isFirst) return [];
    const account = { key: accountKey, username: 'root', password };
    draft.merge('passwd', keyOf(tableNamed('passwd'), account), account);
    if (!head.get('policy', '1')) draft.merge('policy', '1', { priority: '1', name: 'root', rule: 'allow' });
    return draft.changes();
  });
  if (generated === undefined) return;
  if (!isFirst) rmSync(file);
  else
    process.stdout.write(
      `root's password is in ${file}; change it with PUT /tables/passwd/rows/key=xcat,username=root.\n`,
    );
}
