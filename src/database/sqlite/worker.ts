import '../../core/source-lines.ts';
import type SQLite from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { parentPort, workerData } from 'node:worker_threads';
import type { Retention } from '../database.ts';
import type { AuditBlock } from '../audit-blocks.ts';
import { migrate, noteForm } from '../migrations.ts';
import { sqliteSchema } from './migrations.ts';
import { noteUpgraded, saveBeforeUpgrade } from './before-upgrade.ts';
import { OpenedFile, openSqlite } from './connection.ts';
import type { AnyDatabase } from '../own-tables.ts';
import { type SharedWrite, writeShared } from './shared-records.ts';
import { SqliteStatements } from './statements.ts';
import { type ChangeSetText, Writer } from './writer.ts';

/** What the main thread asks of this one; `sets` and `audit` are JSON text, which crosses threads cheaper than objects. */
export type Request =
  | {
      id: number;
      kind: 'write';
      base: number | undefined;
      sets: readonly ChangeSetText[];
      audit: readonly AuditBlock[];
    }
  /** Of a change set of the write with this id, by its position; comes before it. */
  | { id: number; kind: 'part'; set: number; text: string }
  | { id: number; kind: 'prune'; retention: Retention }
  | { id: number; kind: 'prune-log'; table: string; before: number; kept: readonly number[] }
  | { id: number; kind: 'shared'; write: SharedWrite }
  | { id: number; kind: 'close' };
/** Of a failure what the other thread explains it by. */
export type Response = {
  id: number;
  /** The sequence of the latest change set, after a write; the number of rows, after one of shared records. */
  latest?: number | undefined;
  error?: { message: string; code: string | undefined; clash: boolean };
};

const port = parentPort!;

/** A step of a migration that failed says why in its cause. */
function failureOf(error: unknown): NonNullable<Response['error']> {
  const { message, cause } = error as Error;
  const { code } = (cause ?? error) as { code?: string };
  return { message, code, clash: false };
}

async function open(): Promise<{ database: SQLite.Database; opened: OpenedFile; writer: Writer }> {
  try {
    const { file } = workerData as { file: string };
    const database = openSqlite(file);
    const opened = new OpenedFile(file);
    const builder = new Kysely<AnyDatabase>({ dialect: new SqliteDialect({ database }) });
    await noteForm(builder, await migrate(builder, sqliteSchema, () => saveBeforeUpgrade(database, file)));
    noteUpgraded(file);
    return { database, opened, writer: new Writer(database, new SqliteStatements(builder)) };
  } catch (error) {
    port.postMessage({ id: 0, error: failureOf(error) } satisfies Response);
    process.exit(1);
  }
}

const { database, opened, writer } = await open();
port.postMessage({ id: 0 } satisfies Response);

const partsSent = new Map<number, string[][]>();

/** The change sets of a write with all their parts. */
function wholeSets(id: number, sets: readonly ChangeSetText[]): readonly ChangeSetText[] {
  const sent = partsSent.get(id);
  if (!sent) return sets;
  partsSent.delete(id);
  return sets.map((set, index) => (set.journal ? { ...set, parts: [...(sent[index] ?? []), ...set.parts] } : set));
}

port.on('message', (request: Request) => {
  if (request.kind === 'part') {
    const { id, set, text } = request;
    if (!partsSent.has(id)) partsSent.set(id, []);
    (partsSent.get(id)![set] ??= []).push(text);
    return;
  }
  const response: Response = { id: request.id };
  try {
    if (request.kind === 'write') {
      response.latest = writer.write(request.base, wholeSets(request.id, request.sets), request.audit);
      // After the commit, so that nobody hears of a success that went to a file without a name.
      opened.check();
      if (response.latest === undefined)
        response.error = { message: 'Somebody else has committed change sets.', code: undefined, clash: true };
    } else if (request.kind === 'prune') writer.prune(request.retention);
    else if (request.kind === 'prune-log') writer.pruneLog(request.table, request.before, request.kept);
    else if (request.kind === 'shared') response.latest = writeShared(database, request.write);
    else database.close();
  } catch (error) {
    response.error = failureOf(error);
  }
  port.postMessage(response);
  if (request.kind === 'close') port.close();
});
