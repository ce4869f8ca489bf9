import { Fault } from '../core/errors.ts';
import { suggestion } from '../core/nearest.ts';
import data from './tables.json' with { type: 'json' };

/** A stored row: only the columns that were ever set. An empty string is a column that was cleared. */
export type Row = Readonly<Record<string, string>>;

export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** In the order of the storage key: the node column first, so that the rows of one node lie together. */
  readonly keys: readonly string[];
  /** Set on tables whose rows belong to a node or to a group. */
  readonly nodeColumn: string | undefined;
  readonly secret: ReadonlySet<string>;
  readonly namesSecrets: NamesSecrets | undefined;
  readonly volatile: ReadonlySet<string>;
  /** Columns that decide whom muster trusts, such as where secrets go. A rule limited to a node range does not cover them by itself. */
  readonly trust: ReadonlySet<string>;
  /** Append-only, kept outside the snapshot. */
  readonly log: boolean;
  readonly goesWith: readonly GoesWith[];
  readonly ownedBy: readonly OwnedBy[];
}

/** Of a table whose rows have names that people choose: the column of the name, and those that hold a secret where the name says so. */
interface NamesSecrets {
  readonly name: string;
  readonly values: ReadonlySet<string>;
  /** Names that are those of secrets though they do not sound so, and the other way round. */
  readonly always: readonly string[];
  readonly never: readonly string[];
}

/** Says which rows of another table the rows of this one live by: those it narrows to, with the same value in the column. */
export interface GoesWith {
  readonly table: string;
  readonly where: Row;
  readonly column: string;
  /** The columns whose change counts; absent: any but the comments. */
  readonly by?: readonly string[];
}

/** The same of rows that stay without an owner when the row they belong to is made or removed, or `by` changes: who has the name then is somebody else. */
export interface OwnedBy extends GoesWith {
  readonly owner: string;
}

interface TableEntry {
  columns: string[];
  keys: string[];
  nodeColumn?: string;
  secret?: string[];
  namesSecrets?: { name: string; values: string[]; always: string[]; never: string[] };
  volatile?: string[];
  trust?: string[] | true;
  log?: boolean;
  goesWith?: GoesWith[];
  ownedBy?: OwnedBy[];
}

const keySeparator = '\u0000';

function makeTable(name: string, entry: TableEntry): Table {
  const { nodeColumn } = entry;
  const keys = nodeColumn ? [nodeColumn, ...entry.keys.filter((key) => key !== nodeColumn)] : entry.keys;
  return {
    name,
    columns: entry.columns,
    keys,
    nodeColumn,
    secret: new Set(entry.secret),
    namesSecrets: entry.namesSecrets && {
      ...entry.namesSecrets,
      values: new Set([...(entry.secret ?? []), ...entry.namesSecrets.values]),
    },
    volatile: new Set(entry.volatile),
    trust: trustColumns(entry),
    log: entry.log ?? false,
    goesWith: entry.goesWith ?? [],
    ownedBy: entry.ownedBy ?? [],
  };
}

/** A row that is disabled gives way to what the groups say, so that `disable` decides as much as the columns it hides. */
function trustColumns({ columns, trust = [] }: TableEntry): Set<string> {
  if (trust === true) return new Set(columns.filter((column) => column !== 'comments'));
  return new Set(trust.length > 0 ? [...trust, 'disable'] : []);
}

export const tables: ReadonlyMap<string, Table> = new Map(
  Object.entries(data as Record<string, TableEntry>).map(([name, entry]) => [name, makeTable(name, entry)]),
);

/** The tables the snapshot holds: all but the logs. */
export const snapshotTables: readonly Table[] = [...tables.values()].filter((table) => !table.log);
export const nodeTables: readonly Table[] = snapshotTables.filter((table) => table.nodeColumn !== undefined);

export function tableNamed(name: string): Table {
  const table = tables.get(name);
  if (table) return table;
  throw new Fault('unknown-object', `There is no table named "${name}".${suggestion(name, tables.keys())}`, {
    missing: [name],
    reference: [`No such table: ${name}`],
  });
}

export function keyOf(table: Table, row: Row): string {
  const { keys } = table;
  const first = row[keys[0]!] ?? '';
  if (keys.length === 1) return first;
  return joinKey(keys.map((column) => row[column] ?? ''));
}

/** The storage key of a row with these values in its key columns. */
export const joinKey = (values: readonly string[]): string => values.join(keySeparator);

/** The key columns of a storage key, with unset ones left out. */
export function keyColumns(table: Table, key: string): Record<string, string> {
  const columns: Record<string, string> = {};
  for (const [i, value] of key.split(keySeparator).entries()) if (value !== '') columns[table.keys[i]!] = value;
  return columns;
}

/** Where the storage keys of one node (or group) begin, in tables with more than one row per node. */
export const rowsOfNodePrefix = (node: string): string => node + keySeparator;

/** A row counts unless its `disable` says otherwise; an empty `disable` hides it too, as in the reference system. */
export function isEnabled(row: Row): boolean {
  const { disable } = row;
  return disable === undefined || disable === '0' || disable.toLowerCase() === 'no';
}
