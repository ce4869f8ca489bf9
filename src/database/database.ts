import { Fault } from '../core/errors.ts';
import type { JournalChanges, Origin } from './changeset.ts';
import type { SharedRecords } from './shared-records.ts';
import type { SortedMap } from './sorted-map.ts';
import type { Row } from './tables.ts';

/** A change set on its way to disk. */
export interface NewSet {
  readonly changes: JournalChanges;
  /** Undefined: it touches volatile columns only, and has no journal entry and no revision. */
  readonly journal: (Origin & { readonly revision: number; readonly time: number }) | undefined;
  /** An observation depends on nothing that was there before: it touches volatile columns of rows that are there when it is written. */
  readonly isObservation: boolean;
}

/** A change set on disk, with its place among all of them. */
export interface ChangeSet extends Omit<NewSet, 'isObservation'> {
  /** Counts all change sets, one by one, in the order in which they are committed. */
  readonly sequence: number;
  /** Counts those that are no observations, up to this one. */
  readonly fence: number;
}

/** The whole database at one moment, after the change set with this sequence. */
export interface Contents {
  readonly revision: number;
  readonly sequence: number;
  readonly fence: number;
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
  /** The fence that the sets go on from. Undefined: there are only observations and audit records, which depend on nothing. */
  readonly base: number | undefined;
  readonly sets: readonly NewSet[];
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

/** What change sets are read for: so that this server follows the others, which no reader delays, or for one of its readers. */
export type ChangesUse = 'follow' | 'read';

/** Thrown by `write` when somebody else has committed change sets, other than observations, since `base`, and `again` is not asked. */
export class WriteClash extends Error {}

/** Thrown by `write` when nobody can find out whether the batch was committed. */
export class InDoubt extends Fault {}

/** Thrown by `readChanges` when an entry in between is no longer known. */
export class JournalGap extends Error {}

/** Durable storage, also for several processes at once. What any implementation must do is tried by test/database/contract.ts. */
export interface Database {
  load(): Promise<Contents>;
  /**
   * Resolves when everything in the batch is synced, with the sequence of the latest change set; rejects with nothing of it written. If
   * others have committed since its base, a database that can keep them out meanwhile asks for another batch by `again`, with the
   * sequence of their latest change set.
   */
  write(batch: Batch, again?: (latest: number) => Promise<Batch>): Promise<number>;
  /**
   * The next change sets after that sequence, in order; perhaps not all of them, but none only if there are none. Undefined if the next
   * one is no longer known, since old journal entries and all but the latest volatile changes are dropped: `load` shows where things stand.
   */
  changesAfter(sequence: number, use?: ChangesUse): Promise<readonly ChangeSet[] | undefined>;
  /**
   * Calls back soon after somebody else has committed, with the sequence if it is known, at times for nothing; returns what ends that. As
   * long as `followed` is not the sequence that the database has, it calls back again and again: no call that was lost stays unnoticed.
   */
  watch(changed: (latest?: number) => void, followed?: () => number): () => void;
  /** How many milliseconds ago it last said that nothing newer was committed, while somebody watches; 0 where it can be asked at any time. */
  silence(): number;
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
  /** Removes the records of a log whose number is smaller; `kept` are numbers of the audit log that stay. */
  pruneLog(table: string, before: number, kept: readonly number[]): Promise<void>;
  /** This server answers from now on: others that know less of the form of the database write no more. */
  claimForm(): Promise<void>;
  /** What servers share besides the tables. */
  readonly shared: SharedRecords;
  close(): Promise<void>;
}
