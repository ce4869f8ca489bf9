import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenData, withStore } from '../../src/admin/offline.ts';
import { Fault } from '../../src/core/errors.ts';
import { Draft } from '../../src/database/draft.ts';
import { keyOf, type Row, snapshotTables, tableNamed } from '../../src/database/tables.ts';

export type Contents = Record<string, Row[]>;

/** A complete crypt hash as an account stores it. */
export const accountHash = '$5$saltsalt$Gcm6FsVtF/Qa77ZKD.iwsJlCVPY0XSMgLJL0Hnww/c1';

/** What a first start leaves behind, as far as it matters here. */
export const firstStart: Contents = {
  passwd: [{ key: 'xcat', username: 'root', password: accountHash }],
  policy: [{ priority: '1', name: 'root', rule: 'allow' }],
};

/** Opens a data directory for many tests in a row; opening takes longer than any of them. */
export async function openData(dataDir: string): Promise<OpenData & { close(): Promise<void> }> {
  const closing = Promise.withResolvers<void>();
  let done: Promise<void> | undefined;
  const data = await new Promise<OpenData>((resolve, reject) => {
    done = withStore(dataDir, (opened) => {
      resolve(opened);
      return closing.promise;
    });
    done.catch(reject);
  });
  return {
    ...data,
    async close() {
      closing.resolve();
      await done;
    },
  };
}

/** Makes the given rows, with secrets in clear text, all that the database holds. */
export async function fill({ store, seal }: OpenData, contents: Contents): Promise<void> {
  const draft = new Draft(store.head, seal);
  for (const { name } of snapshotTables) for (const key of store.head.rows(name).keys()) draft.remove(name, key);
  for (const [name, rows] of Object.entries(contents)) {
    for (const row of rows) draft.merge(name, keyOf(tableNamed(name), row), row);
  }
  await store.change({ user: 'root', client: 'test', command: 'test', run: 'test' }, () => draft.changes());
}

/** All rows that are stored, tables without rows left out; secrets opened if asked for. */
export function stored({ store, box }: OpenData, { opened = false } = {}): Contents {
  const contents: Contents = {};
  for (const table of snapshotTables) {
    const rows = store.current.rows(table.name).values();
    if (rows.length === 0) continue;
    contents[table.name] = rows.map((row) => {
      const shown: Record<string, string> = { ...row };
      for (const column of table.secret) {
        const value = row[column];
        if (opened && value && box.isSealed(value)) shown[column] = box.open(value, `${table.name}.${column}`);
      }
      return shown;
    });
  }
  return contents;
}

/** Makes the given files all that the directory holds. */
export function writeDump(dir: string, files: Record<string, string | Uint8Array>): void {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
}

/** The sentences of the fault the work ends with. */
export async function sentencesOf(work: Promise<unknown>): Promise<readonly string[]> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof Fault) return error.sentences;
  throw new Error('A fault was expected.', { cause: error });
}
