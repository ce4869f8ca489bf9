import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { scratchDirectory } from '../harness/store.ts';
import { databaseContract } from './contract.ts';

databaseContract('SQLite', async () => {
  const directory = scratchDirectory();
  return {
    open: () => SqliteDatabase.open(join(directory, 'muster.sqlite')),
    remove: async () => rmSync(directory, { recursive: true, force: true }),
  };
});
