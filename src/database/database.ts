import type { JournalChanges, Origin } from './changeset.ts';
import type { SortedMap } from './sorted-map.ts';
import type { Row } from './tables.ts';

export interface JournalEntry extends Origin {
  readonly revision: number;
  readonly time: number;
  readonly changes: JournalChanges;
}

/** A change set on its way to disk. Volatile ones have no journal entry and no revision of their own. */
export interface WriteSet {
  readonly changes: JournalChanges;
  readonly journal: (Origin & { readonly revision: number; readonly time: number }) | undefined;
}

export interface AuditRecord {
  readonly time: number;
  readonly user: string;
  readonly client: string;
  readonly command: string;
  readonly noderange: string;
  readonly args: string;
  readonly status: string;
  readonly request: string;
}

/** All that waits at one moment; written in one transaction with one sync. */
export interface Batch {
  readonly base: number;
  readonly sets: readonly WriteSet[];
  /** Audit records, as `auditText` writes them. */
  readonly audit: readonly string[];
}

export interface Retention {
  /** Entries older than these times (milliseconds) go. */
  readonly journalBefore: number;
  readonly auditBefore: number;
  readonly eventsBefore: number;
}

/** Which log rows to read: those that equal all of `where`, in the order of their numbers, after `after`, at most `limit`. */
export interface LogQuery {
  readonly table: string;
  readonly where: Row;
  readonly after: number;
  readonly limit: number;
}

/** Thrown by `write` when somebody else has committed since `base`. */
export class RevisionClash extends Error {}

/** Durable storage. SQLite implements it here; the SQL is built with kysely so that another database can share it. */
export interface Database {
  load(): Promise<{ revision: number; tables: [table: string, rows: SortedMap<Row>][] }>;
  /** Resolves when everything in the batch is synced; rejects with nothing of it written. */
  write(batch: Batch): Promise<void>;
  journalAfter(revision: number): Promise<JournalEntry[]>;
  readLog(query: LogQuery): Promise<Row[]>;
  prune(retention: Retention): Promise<void>;
  close(): Promise<void>;
}
