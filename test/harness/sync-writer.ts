// Makes three change sets in the database named on the command line, and says when each is asked for and acknowledged.
import { writeSync } from 'node:fs';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { Store } from '../../src/database/store.ts';

const store = await Store.open(await SqliteDatabase.open(process.argv[2]!));
for (let i = 1; i <= 3; i++) {
  const after = { key: `key${i}`, value: 'x' };
  writeSync(1, `asked ${i}\n`);
  await store.change({ user: 'u', client: 'c', command: 'chdef', run: 'r' }, () => [
    { table: 'site', key: after.key, before: undefined, after },
  ]);
  writeSync(1, `acknowledged ${i}\n`);
}
await store.close();
