import type { JournalChanges, Origin } from './changeset.ts';
import type { SortedMap } from './sorted-map.ts';
import type { Row } from './tables.ts';

/** A change set on disk or on its way there. */
export interface ChangeSet {
  /** Counts all change sets, one by one, in the order in which they are committed. */
  readonly sequence: number;
  readonly changes: JournalChanges;
  /** Undefined: it touches volatile columns only, and has no journal entry and no revision. */
  readonly journal: (Origin & { readonly revision: number; readonly time: number }) | undefined;
}

/** The whole database at one moment, after the change set with this sequence. */
export interface Contents {
  readonly revision: number;
  readonly sequence: number;
  readonly tables: readonly (readonly [table: string, rows: SortedMap<Row>])[];
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
  /** The sequence that the sets go on from. Undefined: there are only audit records, which depend on nothing. */
  readonly base: number | undefined;
  readonly sets: readonly ChangeSet[];
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

/** Thrown by `write` when somebody else has committed change sets since `base`. */
export class WriteClash extends Error {}

/** Durable storage, also for several processes at once. What any implementation must do is tried by test/database/contract.ts. */
export interface Database {
  load(): Promise<Contents>;
  /** Resolves when everything in the batch is synced; rejects with nothing of it written. */
  write(batch: Batch): Promise<void>;
  /**
   * The next change sets after that sequence, in order; perhaps not all of them, but none only if there are none. Undefined if the next
   * one is no longer known, since old journal entries and all but the latest volatile changes are dropped: `load` tells where things stand.
   */
  changesAfter(sequence: number): Promise<readonly ChangeSet[] | undefined>;
  /** Calls back soon after somebody else has committed, at times for nothing; returns what ends that. */
  watch(changed: () => void): () => void;
  readLog(query: LogQuery): Promise<Row[]>;
  prune(retention: Retention): Promise<void>;
  close(): Promise<void>;
}
