import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openData } from '../access/open-data.ts';
import type { SecretBox } from '../access/secrets.ts';
import { Fault } from '../core/errors.ts';
import type { Seal } from '../database/draft.ts';
import { lockDataDirectory } from '../database/lock.ts';
import type { Store } from '../database/store.ts';
import { sealer } from '../objects/accounts.ts';
import { members } from './backup.ts';

export interface OpenData {
  readonly store: Store;
  readonly box: SecretBox;
  readonly seal: Seal;
}

/** Works on the data of a stopped server, under the lock that keeps one from starting. With `existing` it makes no new data. */
export async function withStore<T>(
  dataDir: string,
  work: (data: OpenData) => Promise<T>,
  { existing = false }: { existing?: boolean } = {},
): Promise<T> {
  if (existing && !existsSync(dataDir)) throw noData(dataDir, 'the directory does not exist');
  const lock = lockDataDirectory(dataDir);
  try {
    if (existing) {
      for (const name of [members.database, members.key]) {
        if (!existsSync(join(dataDir, name))) throw noData(dataDir, `${name} is missing`);
      }
    }
    const { box, store } = await openData({ data: dataDir });
    try {
      return await work({ store, box, seal: sealer(box) });
    } finally {
      await store.close();
    }
  } finally {
    lock.release();
  }
}

const noData = (dataDir: string, why: string): Fault =>
  new Fault('unavailable', `There are no data in ${dataDir}: ${why}. Name the data directory with --data.`);
