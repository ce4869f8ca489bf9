import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SecretBox } from '../src/access/secrets.ts';
import type { Config } from '../src/config.ts';
import { SqliteDatabase } from '../src/database/sqlite/sqlite.ts';
import { Store } from '../src/database/store.ts';
import { prepareFirstStart } from '../src/first-start.ts';
import { accountNames, sealer } from '../src/objects/accounts.ts';
import { anonymousEntries } from './harness/raw-sqlite.ts';
import { scratchDirectory, silent } from './harness/store.ts';

let directory: string;
beforeEach(() => {
  directory = scratchDirectory();
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

test('of two that start at once on one database, one makes the account, and only its password is told', async () => {
  const file = join(directory, 'muster.sqlite');
  const seal = sealer(SecretBox.open(join(directory, 'key')));
  const homes = ['one', 'two'].map((name) => join(directory, name));
  const stores: Store[] = [];
  for (const data of homes) {
    mkdirSync(data);
    stores.push(await Store.open(silent(await SqliteDatabase.open(file))));
  }
  const config = (data: string): Config =>
    ({ data, rootPassword: undefined, newDatabase: 'usual' }) as unknown as Config;
  const texts = await Promise.all(stores.map((store, i) => prepareFirstStart(store, seal, config(homes[i]!))));
  const [told, ...more] = homes.filter((data) => existsSync(join(data, 'initial-password')));
  expect(more).toEqual([]);
  expect(texts.filter((text) => text !== '')).toEqual([expect.stringContaining(join(told!, 'initial-password'))]);
  for (const store of stores) expect(accountNames(store.current)).toEqual(['root']);
  expect(stores[0]!.current.revision).toBe(1);
  const { current } = stores[0]!;
  expect(current.get('site', 'installdir')?.['value']).toBe('/install');
  expect(current.get('site', 'master')).toBeUndefined();
  expect(current.get('postscripts', 'xcatdefaults')).toEqual({
    node: 'xcatdefaults',
    postscripts: 'syslog,remoteshell,syncfiles',
    postbootscripts: 'otherpkgs',
  });
  expect(anonymousEntries(file)).toEqual([]);
  await Promise.all(stores.map((store) => store.close()));
});
