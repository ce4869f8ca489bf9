import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SecretBox } from '../../src/access/secrets.ts';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { auditRecord, scratchDirectory, testOrigin } from '../harness/store.ts';

let directory: string;
let file: string;
let box: SecretBox;
beforeEach(() => {
  directory = scratchDirectory();
  file = join(directory, 'muster.sqlite');
  box = SecretBox.open(join(directory, 'key'));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function opened<T>(sealing: SecretBox | undefined, work: (store: Store, database: SqliteDatabase) => Promise<T>) {
  const database = await SqliteDatabase.open(file, { sealing });
  const store = await Store.open(database);
  try {
    return await work(store, database);
  } finally {
    await store.close();
  }
}

/** As it was stored before the name was one of a secret. */
const setClear = (store: Store, key: string, value: string | undefined): Promise<unknown> =>
  store.change(testOrigin, (head) => [
    { table: 'site', key, before: head.get('site', key), after: value === undefined ? undefined : { key, value } },
  ]);

test('what was stored in clear text under the name of a secret is sealed in the tables, the journal and the audit log', async () => {
  await opened(undefined, async (store) => {
    await setClear(store, 'apitoken', 'clear-first');
    await setClear(store, 'apitoken', 'clear-second');
    await setClear(store, 'snmppassword', 'clear-gone');
    await setClear(store, 'snmppassword', undefined);
    await setClear(store, 'domain', 'cluster.example');
    await store.audit({ ...auditRecord(1), args: 'site key=apitoken site.value=clear-args site.comments=x' });
    await store.audit({ ...auditRecord(2), args: 'site key=domain site.value=cluster.example' });
  });
  await opened(box, async (store, database) => {
    expect(database.newlySealed).toEqual(['site.apitoken']);
    expect(box.open(store.current.get('site', 'apitoken')!['value']!, 'site.value')).toBe('clear-second');
    expect(store.current.get('site', 'domain')).toEqual({ key: 'domain', value: 'cluster.example' });
    // The state before a change is compared with what is stored.
    const past = await store.past.at(store.current, 2);
    expect(past.get('site', 'apitoken')).toEqual(store.current.get('site', 'apitoken'));
    const first = await store.past.at(store.current, 1);
    expect(box.open(first.get('site', 'apitoken')!['value']!, 'site.value')).toBe('clear-first');
  });
  expect(queryOutside(file, 'select args from auditlog order by recid').map(({ args }) => args)).toEqual([
    'site key=apitoken site.value=xxxxxxxx',
    'site key=domain site.value=cluster.example',
  ]);
  expect(readFileSync(file).includes('clear-')).toBe(false);
  await opened(box, async (_store, database) => expect(database.newlySealed).toEqual([]));
});
