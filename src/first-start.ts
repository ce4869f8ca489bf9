import { randomBytes } from 'node:crypto';
import { hashPassword } from './access/crypt.ts';
import type { Config } from './config.ts';
import { writeFileAtomically } from './core/files.ts';
import { Draft, type Seal } from './database/draft.ts';
import type { Store } from './database/store.ts';
import { keyOf, tableNamed } from './database/tables.ts';
import { initialPasswordFile } from './initial-password.ts';
import { accountKey, accountNames } from './objects/accounts.ts';

/** Gives a database without accounts its first account and the rule that lets it do everything. */
export async function prepareFirstStart(store: Store, seal: Seal, { data, rootPassword }: Config): Promise<void> {
  if (accountNames(store.current).length > 0) return;
  const password = await hashPassword(rootPassword ?? generatedPassword(data));
  await store.change({ user: 'root', client: 'local', command: 'first-start', run: '' }, (head) => {
    const draft = new Draft(head, seal);
    const account = { key: accountKey, username: 'root', password };
    draft.merge('passwd', keyOf(tableNamed('passwd'), account), account);
    if (!head.get('policy', '1')) draft.merge('policy', '1', { priority: '1', name: 'root', rule: 'allow' });
    return draft.changes();
  });
}

function generatedPassword(data: string): string {
  const password = randomBytes(18).toString('base64url');
  const file = initialPasswordFile(data);
  writeFileAtomically(file, `${password}\n`, 0o600);
  process.stdout.write(
    `root's password is in ${file}; change it with PUT /tables/passwd/rows/key=xcat,username=root.\n`,
  );
  return password;
}
