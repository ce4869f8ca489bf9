import { setImmediate } from 'node:timers/promises';
import { auditColumns, auditTime } from './audit-queue.ts';
import type { LogQuery } from './database.ts';
import type { Row } from './tables.ts';

/** A run of records, numbered from `first` on. `until` is the latest time among them, `records` their texts as a JSON array. */
export interface AuditBlock {
  readonly count: number;
  readonly until: number;
  readonly records: string;
}

/** What the reference system writes for REST clients. */
export const clientType = 'ws';

const blockSize = 1_000;

export function auditBlocks(texts: readonly string[]): AuditBlock[] {
  const blocks: AuditBlock[] = [];
  for (let from = 0; from < texts.length; from += blockSize) {
    const part = texts.slice(from, from + blockSize);
    const until = part.reduce((latest, text) => Math.max(latest, auditTime(text)), 0);
    blocks.push({ count: part.length, until, records: `[${part.join()}]` });
  }
  return blocks;
}

const blocksPerTurn = 20;

export interface StoredBlock {
  readonly first: number;
  readonly records: string;
}

/** The next blocks that begin after a number, so many at most. */
export type NextBlocks = (after: number, limit: number) => readonly StoredBlock[] | Promise<readonly StoredBlock[]>;

/** Reads records as rows; others get their turn while a long log is searched. */
export async function readAudit(nextBlocks: NextBlocks, { where, after, limit }: LogQuery): Promise<Row[]> {
  const rows: Row[] = [];
  const texts = auditColumns
    .slice(1)
    .flatMap((column) => (where[column] === undefined ? [] : JSON.stringify(where[column])));
  for (let last = after - blockSize; ; await setImmediate()) {
    const blocks = await nextBlocks(last, blocksPerTurn);
    for (const { first, records } of blocks) {
      last = first;
      if (!texts.every((text) => records.includes(text))) continue;
      for (const [i, values] of (JSON.parse(records) as AuditValues[]).entries()) {
        const row = first + i > after ? auditRow(first + i, values) : undefined;
        if (!row || !Object.entries(where).every(([column, value]) => row[column] === value)) continue;
        rows.push(row);
        if (rows.length === limit) return rows;
      }
    }
    if (blocks.length < blocksPerTurn) return rows;
  }
}

type AuditValues = readonly [time: number, ...texts: string[]];

/** In the order of the table's columns. */
function auditRow(number: number, [time, ...texts]: AuditValues): Row {
  const row: Record<string, string> = { recid: String(number), audittime: new Date(time).toISOString() };
  for (const [i, column] of auditColumns.slice(1).entries()) {
    row[column] = texts[i]!;
    if (column === 'clientname') row['clienttype'] = clientType;
  }
  return row;
}
