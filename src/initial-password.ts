import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { verifyPassword } from './access/crypt.ts';
import type { Logger } from './core/log.ts';
import type { Snapshot } from './database/snapshot.ts';
import type { Store } from './database/store.ts';
import { accountRow } from './objects/accounts.ts';

export const initialPasswordFile = (data: string): string => join(data, 'initial-password');

const rootPassword = (snapshot: Snapshot): string | undefined => accountRow(snapshot, 'root')?.['password'];

/** The file with root's first password goes with that password: now, if it was changed while nobody served, or as soon as it changes. */
export async function dropInitialPassword(data: string, store: Store, log: Logger): Promise<void> {
  const file = initialPasswordFile(data);
  if (!existsSync(file)) return;
  const stored = rootPassword(store.current);
  if (!(await holds(file, stored))) return remove(file, log);
  const stop = store.subscribe((current) => {
    if (rootPassword(current) === stored) return;
    stop();
    remove(file, log);
  });
}

async function holds(file: string, stored: string | undefined): Promise<boolean> {
  return stored !== undefined && (await verifyPassword(readFileSync(file, 'utf8').trim(), stored));
}

function remove(file: string, log: Logger): void {
  try {
    rmSync(file, { force: true });
    log.info(`${file} was removed: root has another password now.`);
  } catch (error) {
    log.error({ err: error }, `${file} holds a password that root no longer has, and cannot be removed: remove it.`);
  }
}
