import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../core/errors.ts';
import type { RowChange } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { keyColumns, type Row, snapshotTables, type Table, tableNamed, tables } from '../database/tables.ts';
import { checkStillGoverned } from '../dispatch/consequences.ts';
import { accountKey } from '../objects/accounts.ts';
import { type ImportedTable, ImportFaults, importTable, type TableFile } from './import-table.ts';
import { type OpenData, withStore } from './offline.ts';

interface ImportOptions {
  /** Take the place of what the database holds. */
  readonly replace?: boolean;
  /** Leave out tables and columns that this system does not have. */
  readonly skipUnknown?: boolean;
  /** Mend what can be mended: control characters, masks without their slash. */
  readonly clean?: boolean;
  /** Leave out rows that cannot be taken. */
  readonly skipBadRows?: boolean;
}

interface ImportReport {
  readonly tables: number;
  readonly rows: number;
  /** What of the directory was left out. */
  readonly skipped: readonly string[];
  /** What was mended, with file and line. */
  readonly cleaned?: readonly string[];
  readonly notes: readonly string[];
}

/** Reads table dumps into the data of a stopped server, or into the given open data: all of it in one change set, or nothing. */
export async function importTables(
  target: string | OpenData,
  dir: string,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const names = listDirectory(dir);
  if (typeof target !== 'string') return importInto(target, dir, names, options);
  return withStore(target, (data) => importInto(data, dir, names, options));
}

async function importInto(
  { store, seal, box }: OpenData,
  dir: string,
  names: readonly string[],
  { replace = false, skipUnknown = false, clean = false, skipBadRows = false }: ImportOptions,
): Promise<ImportReport> {
  if (!replace) refuseFilled(store.head);
  const faults = new ImportFaults();
  const skipped: string[] = [];
  const cleaned: string[] = [];
  const files = chooseFiles(dir, names, skipped, skipUnknown ? undefined : faults);
  const draft = new Draft(store.head, seal);
  const imported = new Map<string, ImportedTable>();
  for (const file of files) {
    const result = await importTable(draft, file, faults, {
      box,
      skipUnknown,
      ...(clean ? { cleaned } : {}),
      ...(skipBadRows ? { skipped } : {}),
    });
    imported.set(file.table.name, result);
    for (const column of result.unknownColumns) skipped.push(`${file.name}: column "${column}" is unknown here.`);
  }
  faults.throwIfAny();
  if (replace) removeOthers(draft, imported);
  const changes = draft.changes();
  refuseUngoverned(draft.base, changes, imported.get('passwd')?.lostSecrets ?? 0);
  const origin = { user: 'root', client: 'local', command: 'import', run: randomUUID() };
  await store.change(origin, (head) => {
    if (head === draft.base) return changes;
    throw new Fault('unavailable', 'The database changed during the import. Nothing was imported.');
  });
  const rows = [...imported.values()].reduce((sum, { keys }) => sum + keys.size, 0);
  return { tables: imported.size, rows, skipped, ...(clean ? { cleaned } : {}), notes: notesOn(imported, replace) };
}

function listDirectory(dir: string): string[] {
  let names: string[];
  try {
    names = readdirSync(dir).sort();
  } catch (error) {
    throw new Fault('invalid', `The directory ${dir} cannot be read: ${(error as Error).message}.`);
  }
  if (names.some((name) => name.endsWith('.csv'))) return names;
  throw new Fault('invalid', `There is nothing to import in ${dir}: it has no file such as nodelist.csv.`);
}

/** The files to read; the others go to `skipped`, or to `faults` if they would be tables. */
function chooseFiles(dir: string, names: readonly string[], skipped: string[], faults?: ImportFaults): TableFile[] {
  const files: TableFile[] = [];
  for (const name of names) {
    const table = name.endsWith('.csv') ? tables.get(name.slice(0, -'.csv'.length)) : undefined;
    if (table?.log) skipped.push(`${name}: logs are not imported.`);
    else if (table) files.push({ table, name, path: join(dir, name) });
    else if (!name.endsWith('.csv')) skipped.push(`${name}: not a .csv file.`);
    else if (faults) faults.add(name, `There is no table named "${name.slice(0, -'.csv'.length)}".`);
    else skipped.push(`${name}: the table is unknown here.`);
  }
  return files;
}

/** A first start fills these; everything else somebody has put there. */
const filledAtStart = new Set(['passwd', 'policy', 'site', 'siteaccount', 'token', 'postscripts']);

function refuseFilled(snapshot: Snapshot): void {
  const filled = snapshotTables.filter(({ name }) => !filledAtStart.has(name) && snapshot.rows(name).size > 0);
  if (filled.length === 0) return;
  const found = filled.map(({ name }) => name).join(', ');
  throw new Fault(
    'invalid',
    `The database is not empty: it has rows in ${found}. Use --replace to replace what it holds.`,
  );
}

function removeOthers(draft: Draft, imported: ReadonlyMap<string, ImportedTable>): void {
  for (const table of snapshotTables) {
    const keys = imported.get(table.name)?.keys;
    const keepsGovernors = !keys || (table.name === 'passwd' && !bringsAccounts(keys));
    for (const [key, row] of draft.base.rows(table.name).entries()) {
      if (!keys?.has(key) && !(keepsGovernors && staysWithoutFile(table, row))) draft.remove(table.name, key);
    }
  }
}

const bringsAccounts = (keys: ReadonlyMap<string, number>): boolean =>
  [...keys.keys()].some((key) => keyColumns(tableNamed('passwd'), key)['key'] === accountKey);

/** A dump without accounts or rules must not lock everybody out. */
const staysWithoutFile = (table: Table, row: Row): boolean =>
  table.name === 'policy' || (table.name === 'passwd' && row['key'] === accountKey);

function refuseUngoverned(base: Snapshot, changes: readonly RowChange[], hiddenPasswords: number): void {
  const governing = changes.filter(({ table }) => table === 'policy' || table === 'passwd');
  try {
    checkStillGoverned(governing, () => base.apply(governing, base.revision));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault('invalid', [
      'Nothing was imported.',
      ...error.sentences,
      hiddenPasswords > 0
        ? 'The dump hides its passwords: import it where the accounts exist, or export again with --with-secrets.'
        : `Start muster once, so that it makes the account root, and import with --replace; or give an account in passwd.csv (key ${accountKey}).`,
    ]);
  }
}

function notesOn(imported: ReadonlyMap<string, ImportedTable>, replace: boolean): string[] {
  const notes: string[] = [];
  for (const [table, { lostSecrets, foreignTokens }] of imported) {
    if (lostSecrets > 0) notes.push(`${table}.csv: ${lostSecrets} hidden secrets are not known here and stay unset.`);
    if (foreignTokens > 0) notes.push(`${table}.csv: ${foreignTokens} tokens were left out; their users log in again.`);
  }
  const passwords = imported.get('passwd')?.keys;
  if (replace && !(passwords && bringsAccounts(passwords)))
    notes.push('The dump has no accounts in passwd.csv: those that were here are kept.');
  if (replace && !imported.has('policy')) notes.push('There is no policy.csv: the policy was kept.');
  return notes;
}
