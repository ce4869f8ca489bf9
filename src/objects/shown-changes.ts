import { redacted } from '../database/draft.ts';
import type { JournalColumns, JournalRow } from '../database/changeset.ts';
import type { JournalEntry } from '../database/database.ts';
import { secretColumnsOf } from '../database/secret-columns.ts';
import { keyColumns, type Row, type Table, tableNamed } from '../database/tables.ts';

/** A row before and after, as it is told: of a row that stays only what changed, null for unset; no secrets. */
export interface ShownRow {
  readonly table: string;
  readonly key: Row;
  readonly before: JournalColumns | null;
  readonly after: JournalColumns | null;
}

export interface ShownEntry {
  readonly id: number;
  readonly time: string;
  readonly user: string;
  readonly client: string;
  readonly command: string;
  readonly run: string;
  readonly reverts?: number;
}

/** Whether and how the journal has a row. */
export type ChangedRow = readonly [table: Table, row: JournalRow];

export function shownRow([table, [key, before, after]]: ChangedRow): ShownRow {
  const secret = secretColumnsOf(table, key);
  const shown = (columns: JournalColumns | null): JournalColumns | null => columns && shownColumns(secret, columns);
  return { table: table.name, key: shown(keyColumns(table, key)) as Row, before: shown(before), after: shown(after) };
}

function shownColumns(secret: ReadonlySet<string>, columns: JournalColumns): JournalColumns {
  if (secret.size === 0) return columns;
  const shown = { ...columns };
  for (const column of secret) if (shown[column]) shown[column] = redacted;
  return shown;
}

export const shownEntry = ({ revision, time, user, client, command, run, reverts }: JournalEntry): ShownEntry => ({
  id: revision,
  time: new Date(time).toISOString(),
  user,
  client,
  command,
  run,
  ...(reverts === undefined ? {} : { reverts }),
});

/** All rows of an entry. */
export function* rowsOf({ changes }: Pick<JournalEntry, 'changes'>): Generator<ChangedRow, void, void> {
  for (const name in changes) {
    const table = tableNamed(name);
    for (const row of changes[name]!) yield [table, row];
  }
}

/** The node or group whose row it is; undefined in tables that are about neither. */
export function ownerOf({ name, nodeColumn }: Table, key: string): string | undefined {
  if (name === groupTable) return key;
  return nodeColumn === undefined ? undefined : key.split('\u0000', 1)[0]!;
}

/** Says what groups are. */
export const groupTable = 'nodegroup';
