import type { Client, Pool } from 'pg';
import type { Retention } from '../database.ts';
import { auditTable, journalTable, removedTable } from '../own-tables.ts';
import { tableNamed } from '../tables.ts';
import { pruneShared } from './shared-records.ts';
import type { PostgresStatements } from './statements.ts';

const rowsAtOnce = 1_000;

/** Forgets what is older than it is kept. */
export async function pruneAll(
  pool: Pool,
  statements: PostgresStatements,
  { journalBefore, auditBefore, eventsBefore }: Retention,
): Promise<void> {
  const limits = [
    [journalTable, 'time', 'revision', journalBefore],
    [auditTable, 'until', 'first', auditBefore],
    ['eventlog', 'eventtime', 'recid', new Date(eventsBefore).toISOString()],
  ] as const;
  await pruneShared(pool);
  await pool.query(`delete from ${removedTable} where time < $1`, [journalBefore]);
  for (const [table, timeColumn, key, before] of limits) {
    const text = statements.prune(table, timeColumn, key);
    while ((await pool.query(text, [before, rowsAtOnce])).rowCount !== 0);
  }
}

interface Block {
  readonly first: number;
  readonly until: number;
  readonly records: string;
}

/** Removes the records of a log whose number is smaller; `kept` are numbers of the audit log that stay. */
export async function pruneLog(client: Client, table: string, before: number, kept: readonly number[]): Promise<void> {
  if (table !== 'auditlog') {
    const [key] = tableNamed(table).keys;
    await client.query(`delete from ${table} where ${key} < $1`, [before]);
    return;
  }
  await client.query('begin');
  try {
    const stays = [...kept.map((number) => [number, number + 1] as const), [before, Infinity] as const];
    const pieces: (readonly (number | string)[])[] = [];
    for (const [from, to] of stays) pieces.push(...(await auditPieces(client, from, to)));
    await client.query(`delete from ${auditTable} where first < $1`, [before]);
    for (const piece of pieces)
      await client.query(`insert into ${auditTable} (first, count, until, records) values ($1, $2, $3, $4)`, [
        ...piece,
      ]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** The records of one block from one number to another, as a block of their own; none if there are none. */
async function auditPieces(client: Client, from: number, to: number): Promise<(readonly (number | string)[])[]> {
  const text = `select first, until, records from ${auditTable} where first <= $1 order by first desc limit 1`;
  const [block] = (await client.query<Block>(text, [from])).rows;
  // One that begins there is not cut, and stays.
  if (!block || (block.first === from && to === Infinity)) return [];
  const records = (JSON.parse(block.records) as unknown[]).slice(from - block.first, to - block.first);
  return records.length === 0 ? [] : [[from, records.length, block.until, JSON.stringify(records)]];
}
