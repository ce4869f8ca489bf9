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

/** An entry of the journal: who changed what, when and from where. */
export interface JournalEntry extends Origin {
  readonly revision: number;
  readonly time: number;
  readonly changes: JournalChanges;
}

/** Which journal entries to read: those after one revision, up to another. */
export interface JournalQuery {
  readonly after: number;
  readonly until: number;
  readonly user?: string | undefined;
  readonly command?: string | undefined;
  /** Only rows of these tables, or under these names, are wanted: what has none may be left out. */
  readonly tables?: readonly string[] | undefined;
  readonly names?: readonly string[] | undefined;
}

/** Thrown by `write` when somebody else has committed change sets since `base`. */
export class WriteClash extends Error {}

/** Thrown by `readChanges` when an entry in between is no longer known. */
export class JournalGap extends Error {}

/** Durable storage, also for several processes at once. What any implementation must do is tried by test/database/contract.ts. */
export interface Database {
  load(): Promise<Contents>;
  /** Resolves when everything in the batch is synced; rejects with nothing of it written. */
  write(batch: Batch): Promise<void>;
  /**
   * The next change sets after that sequence, in order; perhaps not all of them, but none only if there are none. Undefined if the next
   * one is no longer known, since old journal entries and all but the latest volatile changes are dropped: `load` shows where things stand.
   */
  changesAfter(sequence: number): Promise<readonly ChangeSet[] | undefined>;
  /** Calls back soon after somebody else has committed, at times for nothing; returns what ends that. */
  watch(changed: () => void): () => void;
  /** Journal entries, the newest first. Each piece is read in a few milliseconds, and others get their turn in between. */
  readJournal(query: JournalQuery): AsyncIterable<readonly JournalEntry[]>;
  /** The changes of all entries after one revision up to another, the oldest first, parts of long ones apart; read as fast as can be. */
  readChanges(after: number, until: number): AsyncIterable<readonly JournalChanges[]>;
  /** The oldest entry that is still known. */
  oldestEntry(): Promise<Pick<JournalEntry, 'revision' | 'time'> | undefined>;
  /** The latest revision that was there at the time (milliseconds); undefined if the journal does not go back that far. */
  revisionAt(time: number): Promise<number | undefined>;
  readLog(query: LogQuery): Promise<Row[]>;
  /** The keys of a table's rows in the order in which these were first stored. */
  storedOrder(table: string): Promise<string[]>;
  prune(retention: Retention): Promise<void>;
  close(): Promise<void>;
}
