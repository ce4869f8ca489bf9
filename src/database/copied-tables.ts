import { createHash } from 'node:crypto';
import { auditTable, journalTable, metaTable, ordinalColumn, removedTable, sequenceTable } from './own-tables.ts';
import { tables } from './tables.ts';

/** A table as it is copied from one database to another. */
export interface CopiedTable {
  readonly name: string;
  /** Texts first. */
  readonly texts: readonly string[];
  readonly numbers: readonly string[];
  /** What the rows are read in the order of. */
  readonly keys: readonly string[];
}

const ownTables: readonly CopiedTable[] = [
  {
    name: journalTable,
    texts: ['user', 'client', 'command', 'run', 'changes'],
    numbers: ['revision', 'part', 'time', 'reverts'],
    keys: ['revision', 'part'],
  },
  { name: sequenceTable, texts: ['changes'], numbers: ['sequence', 'total', 'fence', 'revision'], keys: ['sequence'] },
  { name: auditTable, texts: ['records'], numbers: ['first', 'count', 'until'], keys: ['first'] },
  { name: removedTable, texts: ['name', 'key'], numbers: ['time', 'ordinal'], keys: ['name', 'key'] },
  { name: metaTable, texts: ['name', 'value'], numbers: [], keys: ['name'] },
];

/** Everything that a database holds. The audit log is a view of its blocks. */
export const copiedTables: readonly CopiedTable[] = [
  ...[...tables.values()]
    .filter(({ name }) => name !== 'auditlog')
    .map(({ name, columns, keys, log }) =>
      log
        ? { name, texts: columns.filter((column) => column !== keys[0]), numbers: [keys[0]!], keys }
        : { name, texts: columns, numbers: [ordinalColumn], keys },
    ),
  ...ownTables,
];

/** The rows of a table, as numbers to compare. */
export function rowsHash(): {
  add(rows: readonly (readonly unknown[])[]): void;
  digest(): string;
  readonly count: number;
} {
  const hash = createHash('sha256');
  let count = 0;
  let digest: string | undefined;
  return {
    add(rows) {
      for (const row of rows) hash.update(`${JSON.stringify(row)}\n`);
      count += rows.length;
    },
    digest: () => (digest ??= hash.digest('hex')),
    get count() {
      return count;
    },
  };
}
