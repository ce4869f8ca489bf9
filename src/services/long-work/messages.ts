import type { FaultData } from '../../core/errors.ts';
import type { RunRecord } from './records.ts';

/** What a process for long work is told first. */
export interface Order {
  /** Where the module is that does it. */
  readonly module: string;
  readonly job: unknown;
  /** Where the run is recorded, and how. */
  readonly directory: string;
  readonly record: RunRecord;
  /** Bytes that must stay free. */
  readonly reserve: number;
  /** Whether programs can be given namespaces of their own. */
  readonly isolated: boolean;
}

export type ToChild = { readonly order: Order } | { readonly abort: FaultData };

/** Lines and the share done since the last batch. */
export interface Batch {
  readonly lines: readonly string[];
  readonly done: number;
  readonly of: number;
}

export type FromChild =
  | { readonly batch: Batch }
  /** A directory that it writes to the file system of. */
  | { readonly staging: string }
  | { readonly made: unknown }
  | { readonly fault: FaultData }
  /** What nobody foresaw. */
  | { readonly error: { readonly text: string; readonly code?: string | undefined } };
