import { Fault } from '../core/errors.ts';
import type { Store } from '../database/store.ts';
import type { Row, Table } from '../database/tables.ts';

/** Which records of a log go: exactly one is given. */
export interface Pruning {
  readonly all?: boolean | undefined;
  /** So many of the oldest. */
  readonly number?: number | undefined;
  /** So many per cent of them. */
  readonly percent?: number | undefined;
  /** Those with a smaller number. */
  readonly recid?: number | undefined;
  /** Those that are older. */
  readonly days?: number | undefined;
}

const pruningWays = ['all', 'number', 'percent', 'recid', 'days'] as const;
const readAtOnce = 1_000;
const day = 24 * 60 * 60 * 1_000;

/** Records whose number is smaller than `before` go, but for those that are kept. */
export interface PrunedRange {
  readonly before: number;
  /** Numbers of records that say who removed what: only their age removes them. */
  readonly kept: readonly number[];
  readonly count: number;
  /** At most as many as were asked for. */
  readonly rows: readonly Row[];
}

export function checkPruning(pruning: Pruning): void {
  const given = pruningWays.filter((way) => pruning[way] !== undefined && pruning[way] !== false);
  if (given.length !== 1)
    throw new Fault(
      'invalid',
      `Say with one of ${pruningWays.join(', ')} which records go; ${given.length} are given.`,
    );
}

/** Looks for the records that go; `keepRows` of them come back. Everything that was noted before is in the log by then. */
export async function prunedRange(
  store: Store,
  table: Table,
  pruning: Pruning,
  keepRows: number,
): Promise<PrunedRange> {
  await store.flush();
  const key = table.keys[0]!;
  const goes = await condition(store, table, pruning);
  const rows: Row[] = [];
  const kept: number[] = [];
  let [count, last] = [0, 0];
  for (;;) {
    const page = await store.database.readLog({ table: table.name, where: {}, after: last, limit: readAtOnce });
    for (const row of page) {
      const number = Number(row[key]);
      if (!goes(row, number, count)) return { before: last + 1, kept, count, rows };
      last = number;
      if (isRecordOfPruning(row)) {
        kept.push(number);
        continue;
      }
      count += 1;
      if (rows.length < keepRows) rows.push(row);
    }
    if (page.length < readAtOnce) return { before: last + 1, kept, count, rows };
  }
}

/** How the audit log says that records were removed. */
export const recordOfPruning = { command: 'tabprune', status: 'Removed' } as const;

const isRecordOfPruning = ({ command, status }: Row): boolean =>
  command === recordOfPruning.command && status === recordOfPruning.status;

/** Whether a record goes, by itself, its number and how many went before it. */
type Goes = (row: Row, number: number, before: number) => boolean;

async function condition(store: Store, table: Table, pruning: Pruning): Promise<Goes> {
  const { number, percent, recid, days } = pruning;
  if (number !== undefined) return (_row, _number, before) => before < number;
  if (recid !== undefined) return (_row, each) => each < recid;
  if (percent !== undefined) {
    const { count } = await prunedRange(store, table, { all: true }, 0);
    const share = Math.floor((count * percent) / 100);
    return (_row, _number, before) => before < share;
  }
  if (days !== undefined) {
    const time = table.columns.find((column) => column.endsWith('time'))!;
    const limit = Date.now() - days * day;
    return (row) => Date.parse(row[time] ?? '') < limit;
  }
  return () => true;
}
