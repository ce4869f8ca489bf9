import { setTimeout as pause } from 'node:timers/promises';
import type { QueryConfig } from 'pg';
import { InDoubt } from '../database.ts';
import { drop } from './client.ts';
import type { Connection } from './connection.ts';
import type { Statement } from './row-statements.ts';

/** Milliseconds for which it is tried to find out what became of a commit whose answer was lost. */
const doubtTimeout = 10_000;
const doubtInterval = 250;
/** For one question. */
const findTimeout = 5_000;

/** A transaction that was asked to commit. */
export interface LostCommit {
  /** Its number in the database. */
  readonly transaction: string;
  /** Finds a row that it alone has written. */
  readonly trace: Statement;
  /** Why the answer was lost. */
  readonly cause: unknown;
}

/** Resolves if it was committed; throws the cause if it was not, and InDoubt if nobody knows. */
export async function expectCommitted(
  connection: Connection,
  { transaction, trace, cause }: LostCommit,
): Promise<void> {
  for (const until = Date.now() + doubtTimeout; Date.now() < until; await pause(doubtInterval)) {
    const isCommitted = await find(connection, transaction, trace).catch(() => undefined);
    if (isCommitted === true) return;
    if (isCommitted === false) throw cause;
  }
  throw new InDoubt(
    'unavailable',
    'The connection to the database was lost while it committed; nobody knows yet whether the change was written. Look at what it was to change when the database is back.',
    { retryAfter: 5, cause },
  );
}

/** Undefined while it goes on. */
async function find(connection: Connection, transaction: string, trace: Statement): Promise<boolean | undefined> {
  const client = await connection.another();
  try {
    const text = 'select pg_xact_status($1::xid8) as status';
    const { rows } = await client.query<{ status: string | null }>(within(text, [transaction]));
    const status = rows[0]?.status ?? undefined;
    // After a crash PostgreSQL gives the number of a transaction that left nothing on disk to another one.
    if (status === 'committed') return (await client.query(within(trace.text, trace.values))).rows.length > 0;
    return status === 'aborted' ? false : undefined;
  } finally {
    drop(client);
  }
}

/** The database may fall silent again. */
const within = (text: string, values: readonly unknown[]): QueryConfig & { readonly query_timeout: number } => ({
  text,
  values: [...values],
  query_timeout: findTimeout,
});
