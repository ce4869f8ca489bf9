import type { Client } from 'pg';
import { inSlices, type Interruptible } from '../../core/slices.ts';
import { type AuditBlock, auditBlocks } from '../audit-blocks.ts';
import { groupVolatile, rowCount, splitChanges } from '../changeset.ts';
import { type Batch, type NewSet, WriteClash } from '../database.ts';
import { auditTable, journalTable, keptInSequence, metaTable, ordinalsPerSet, sequenceTable } from '../own-tables.ts';
import { type Form, refuseChanged } from '../form.ts';
import type { Connection } from './connection.ts';
import { takeLock } from './form.ts';
import { expectCommitted } from './lost-commit.ts';
import { NetChanges } from './net-changes.ts';
import { isLost } from './place.ts';
import { rowStatements, type Statement } from './row-statements.ts';
import type { PostgresStatements } from './statements.ts';

/** Milliseconds, well below the time after which PostgreSQL ends an idle transaction. */
const awakeInterval = 1_000;

interface Position {
  readonly sequence: number;
  readonly total: number;
  readonly fence: number;
}

/** A row of the journal or of the sequence as its columns, in the order of the statements below. */
type Columns = readonly (string | number | null)[];

/** Writes batches, each in one transaction that holds the lock of all writers. */
export class Writer {
  readonly #connection: Connection;
  readonly #statements: PostgresStatements;
  readonly #form: Form;
  /** Whoever listens there hears of every commit. */
  readonly #channel: string;
  /** Names of prepared statements, by their texts. */
  readonly #names = new Map<string, string>();

  constructor(connection: Connection, statements: PostgresStatements, form: Form, channel: string) {
    this.#connection = connection;
    this.#form = form;
    this.#channel = channel;
    this.#statements = statements;
  }

  async write(batch: Batch, again?: Again): Promise<number> {
    const first = await writable(batch);
    return this.#connection.use(async (client) => {
      const { latest, transaction } = await this.#begin(client);
      const { written, net } = await awake(client, async () => {
        const chosen = follows(batch, latest) ? first : await this.#again(client, latest, again);
        return { written: chosen, net: await inSlices(netChanges(chosen.sets, latest.sequence)) };
      });
      const { sets, blocks, parts } = written;
      const statements = [
        ...rowStatements(this.#statements, net),
        ...this.#bookkeeping(sets, parts, latest),
        ...(blocks.length > 0 ? [this.#audit(blocks)] : []),
      ];
      await this.#commit(client, statements, transaction, traceOf(written, latest));
      return latest.sequence + sets.length;
    });
  }

  /**
   * A batch that follows what others have written. They wait for the lock meanwhile, so that servers which all write get their turns:
   * one that only tried again would lose against the others for as long as they write.
   */
  async #again(client: Client, latest: Position, again: Again | undefined): Promise<Writable> {
    try {
      const batch = await again?.(latest.sequence);
      if (batch && follows(batch, latest)) return await writable(batch);
      throw new WriteClash('Somebody else has committed change sets.');
    } catch (error) {
      if (!isLost(error)) await client.query('rollback');
      throw error;
    }
  }

  /** Takes the lock and reads where things stand, and the number of the transaction. */
  async #begin(client: Client): Promise<{ readonly latest: Position; readonly transaction: string }> {
    const asked = [
      client.query('begin isolation level read committed'),
      client.query<{ form: string | null }>(takeLock),
      client.query<Position>(`select sequence, total, fence from ${sequenceTable} order by sequence desc limit 1`),
      client.query<{ id: string }>('select pg_current_xact_id()::text as id'),
    ] as const;
    const failed = (await Promise.allSettled(asked)).find((result) => result.status === 'rejected');
    if (failed) {
      if (!isLost(failed.reason)) await client.query('rollback');
      throw failed.reason;
    }
    const [, locked, latest, number] = await Promise.all(asked);
    try {
      refuseChanged(locked.rows[0]!.form, this.#form);
    } catch (error) {
      await client.query('rollback');
      throw error;
    }
    return { latest: latest.rows[0] ?? { sequence: 0, total: 0, fence: 0 }, transaction: number.rows[0]!.id };
  }

  #bookkeeping(sets: readonly NewSet[], parts: readonly (readonly string[])[], latest: Position): Statement[] {
    if (sets.length === 0) return [];
    let { sequence, total, fence } = latest;
    const journal: Columns[] = [];
    const placed: Columns[] = [];
    let latestRevision: number | undefined;
    for (const [i, { changes, journal: entry, isObservation }] of sets.entries()) {
      const texts = parts[i]!;
      total += entry ? 1 : rowCount(changes);
      if (!isObservation) fence++;
      placed.push([++sequence, total, fence, entry?.revision ?? null, entry ? null : texts[0]!]);
      if (!entry) continue;
      const { revision, time, user, client, command, run, reverts = null } = entry;
      latestRevision = revision;
      for (const [part, text] of texts.entries())
        journal.push([revision, part, time, user, client, command, run, reverts, text]);
    }
    const statements: Statement[] = [{ text: insertSequence, values: transposed(placed, 5) }];
    if (journal.length > 0) statements.push({ text: insertJournal, values: transposed(journal, 9) });
    if (latestRevision !== undefined) statements.push({ text: setRevision, values: [String(latestRevision)] });
    if (Math.floor(total / droppedAtOnce) > Math.floor(latest.total / droppedAtOnce))
      statements.push({ text: dropSequence, values: [total - keptInSequence] });
    return [...statements, { text: 'select pg_notify($1, $2)', values: [this.#channel, String(sequence)] }];
  }

  #audit(blocks: readonly AuditBlock[]): Statement {
    let offset = 0;
    const rows = blocks.map(({ count, until, records }) => {
      const row = [offset, count, until, records];
      offset += count;
      return row;
    });
    return { text: insertAudit, values: [offset, ...transposed(rows, 4)] };
  }

  /** None waits for the answer of the one before it; after one that fails, all others fail and the commit takes everything back. */
  async #commit(
    client: Client,
    statements: readonly Statement[],
    transaction: string,
    trace: Statement,
  ): Promise<void> {
    const work = statements.map(({ text, values }) =>
      client.query({ name: this.#nameOf(text), text, values: [...values] }),
    );
    const results = await Promise.allSettled([...work, client.query('commit')]);
    const failed = results.find((result) => result.status === 'rejected');
    if (!failed) return;
    if (!isLost(failed.reason)) throw failed.reason;
    // All of it was sent at once: whichever answer is missing, the commit may have arrived.
    this.#connection.drop();
    await expectCommitted(this.#connection, { transaction, trace, cause: failed.reason });
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text);
    if (name === undefined) this.#names.set(text, (name = `m${this.#names.size}`));
    return name;
  }
}

/** Computes in the middle of a transaction. PostgreSQL ends one in which nothing happens, as that of a server that is suspended. */
async function awake<T>(client: Client, compute: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => void client.query('select 1').catch(() => undefined), awakeInterval);
  try {
    return await compute();
  } finally {
    clearInterval(timer);
  }
}

type Again = (latest: number) => Promise<Batch>;

/** A batch with its texts. */
interface Writable {
  readonly sets: readonly NewSet[];
  readonly parts: readonly (readonly string[])[];
  readonly blocks: readonly AuditBlock[];
}

const writable = async ({ sets, audit }: Batch): Promise<Writable> => ({
  sets,
  parts: await inSlices(partsOf(sets)),
  blocks: auditBlocks(audit),
});

/** Finds the last row that tells a batch from those of others. */
function traceOf({ sets, parts, blocks }: Writable, { sequence }: Position): Statement {
  const entry = sets.findLast(({ journal }) => journal)?.journal;
  if (entry)
    return {
      text: `select 1 from ${journalTable} where revision = $1 and part = 0 and time = $2 and run = $3`,
      values: [entry.revision, entry.time, entry.run],
    };
  if (sets.length > 0)
    return {
      text: `select 1 from ${sequenceTable} where sequence = $1 and changes = $2`,
      values: [sequence + sets.length, parts.at(-1)![0]!],
    };
  const block = blocks.at(-1);
  // What changes nothing is as good as written.
  if (!block) return { text: 'select 1', values: [] };
  const { until, records } = block;
  return { text: `select 1 from ${auditTable} where until = $1 and records = $2`, values: [until, records] };
}

const follows = ({ base }: Batch, { fence }: Position): boolean => base === undefined || base === fence;

/** Of each set: the parts of those in the journal, the changes of the others. */
function* partsOf(sets: readonly NewSet[]): Interruptible<string[][]> {
  const all: string[][] = [];
  for (const { changes, journal } of sets) {
    if (!journal) all.push([JSON.stringify(groupVolatile(changes))]);
    else {
      const parts: string[] = [];
      for (const part of splitChanges(changes)) {
        parts.push(JSON.stringify(part));
        yield;
      }
      all.push(parts);
    }
    yield;
  }
  return all;
}

const rowsPerStep = 1_000;

/** What they make of the rows, as the change sets after the latest one. */
function* netChanges(sets: readonly NewSet[], latest: number): Interruptible<NetChanges> {
  const net = new NetChanges();
  let sequence = latest;
  let rows = 0;
  for (const { changes, journal } of sets) {
    let ordinal = ++sequence * ordinalsPerSet;
    const place = { time: journal?.time ?? 0, takesBack: journal?.reverts !== undefined };
    for (const [table, list] of Object.entries(changes)) {
      for (const row of list) {
        net.add(table, row, { ordinal: ordinal++, ...place });
        if (++rows % rowsPerStep === 0) yield;
      }
    }
  }
  return net;
}

/** Columns of rows, as arrays. */
const transposed = (rows: readonly Columns[], count: number): unknown[][] =>
  Array.from({ length: count }, (_, column) => rows.map((row) => row[column]));

const arrays = (...types: string[]): string => `unnest(${types.map((type, i) => `$${i + 1}::${type}[]`).join()})`;

const insertSequence = `insert into ${sequenceTable} (sequence, total, fence, revision, changes)
  select * from ${arrays('bigint', 'bigint', 'bigint', 'bigint', 'text')}`;

const insertJournal = `insert into ${journalTable} (revision, part, time, "user", client, command, run, reverts, changes)
  select * from ${arrays('bigint', 'bigint', 'bigint', 'text', 'text', 'text', 'text', 'bigint', 'text')}`;

const setRevision = `update ${metaTable} set value = $1 where name = 'revision'`;

/** How many are too many before they are dropped. */
const droppedAtOnce = 1_000;

const dropSequence = `delete from ${sequenceTable} where sequence <
  (select sequence from ${sequenceTable} where total > $1 order by sequence limit 1)`;

const insertAudit = `with numbered as (
    update ${metaTable} set value = (value::bigint + $1)::text where name = 'audit' returning value::bigint - $1 as first)
  insert into ${auditTable} (first, count, until, records)
  select numbered.first + block.at, block.count, block.until, block.records
  from numbered, unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) as block(at, count, until, records)`;
