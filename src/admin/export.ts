import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SecretBox } from '../access/secrets.ts';
import { Fault } from '../core/errors.ts';
import { syncDirectory } from '../core/files.ts';
import { redacted } from '../database/draft.ts';
import { replacingSecrets } from '../database/secret-columns.ts';
import type { Store } from '../database/store.ts';
import { type Row, type Table, tables } from '../database/tables.ts';
import { csvHeader, csvLine } from '../core/csv.ts';
import { type OpenData, withStore } from './offline.ts';

interface ExportOptions {
  readonly withSecrets?: boolean;
}

interface ExportReport {
  readonly tables: number;
  readonly rows: number;
}

const chunkLength = 1 << 20;
const logPage = 10_000;

/** Writes every table to its own file in an empty directory: of a stopped server, or of the given open data. */
export async function exportTables(
  source: string | Pick<OpenData, 'store' | 'box'>,
  dir: string,
  options: ExportOptions = {},
): Promise<ExportReport> {
  if (typeof source !== 'string') return writeTables(source, dir, options);
  return withStore(source, (data) => writeTables(data, dir, options), { existing: true });
}

async function writeTables(
  { store, box }: Pick<OpenData, 'store' | 'box'>,
  dir: string,
  { withSecrets = false }: ExportOptions,
): Promise<ExportReport> {
  const created = provideEmptyDirectory(dir);
  const shown = withSecrets ? clearSecrets(box) : hiddenSecrets;
  let rows = 0;
  try {
    for (const table of tables.values()) rows += await writeTable(store, table, join(dir, fileName(table)), shown);
    syncDirectory(dir);
  } catch (error) {
    for (const table of tables.values()) rmSync(join(dir, fileName(table)), { force: true });
    if (created) rmSync(dir, { recursive: true, force: true });
    throw error;
  }
  return { tables: tables.size, rows };
}

const fileName = (table: Table): string => `${table.name}.csv`;

/** True if it made the directory. */
function provideEmptyDirectory(dir: string): boolean {
  let made: string | undefined;
  let present: string[];
  try {
    made = mkdirSync(dir, { recursive: true, mode: 0o700 });
    present = readdirSync(dir);
  } catch (error) {
    throw new Fault('invalid', `The directory ${dir} cannot be written: ${(error as Error).message}.`);
  }
  if (present.length > 0) {
    throw new Fault('invalid', `The directory ${dir} is not empty; export into a new or an empty one.`);
  }
  return made !== undefined;
}

type Shown = (table: Table, column: string, value: string) => string;

const hiddenSecrets: Shown = () => redacted;

/** Hashes of passwords and of tokens have no clear text and stay what they are. */
const clearSecrets =
  (box: SecretBox): Shown =>
  (table, column, value) =>
    box.isSealed(value) ? box.open(value, `${table.name}.${column}`) : value;

async function writeTable(store: Store, table: Table, file: string, shown: Shown): Promise<number> {
  const handle = openSync(file, 'wx', 0o600);
  try {
    let count = 0;
    let chunk = csvHeader(table.columns);
    for await (const rows of pages(store, table)) {
      for (const row of rows) {
        const shownRow = replacingSecrets(table, row, (column, value) => shown(table, column, value));
        chunk += csvLine(table.columns.map((column) => shownRow[column]));
        count++;
        if (chunk.length < chunkLength) continue;
        writeFileSync(handle, chunk);
        chunk = '';
      }
    }
    writeFileSync(handle, chunk);
    fsyncSync(handle);
    return count;
  } finally {
    closeSync(handle);
  }
}

async function* pages(store: Store, table: Table): AsyncGenerator<readonly Row[]> {
  if (!table.log) {
    yield store.current.rows(table.name).values();
    return;
  }
  const number = table.keys[0]!;
  await store.flush();
  for (let after = 0; ; ) {
    const rows = await store.database.readLog({ table: table.name, where: {}, after, limit: logPage });
    yield rows;
    if (rows.length < logPage) return;
    after = Number(rows.at(-1)![number]);
  }
}
