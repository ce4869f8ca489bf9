import type { FaultData } from '../core/errors.ts';
import type { RunRecord } from './records.ts';

/** What a process for long work gets first. */
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

/** What long work is given besides its job. It runs in a process of its own, so that nobody else waits for it. */
export interface Work {
  /** The id of the run. */
  readonly run: string;
  /** Aborted when the run is cancelled or takes too long; programs are ended by themselves. */
  readonly signal: AbortSignal;
  /** Whether what its programs mount is seen by them alone, and goes with the run. */
  readonly hasOwnMounts: boolean;
  /** A line for whoever watches. */
  tell(line: string): void;
  /** The share that is done, in whatever unit. */
  progress(done: number, of: number): void;
  /**
   * An empty directory on the file system of `beside`, an existing directory, that only root may enter. It goes with the run, also if
   * muster is killed meanwhile; what is to stay is renamed out of it when all is done. The reserve on its file system is kept, unless
   * hardly anything is written to it: what frees space must work where there is none.
   */
  staging(beside: string, options?: StagingOptions): Promise<string>;
  /**
   * Runs a program to its end. Other exit codes than those expected are a Fault with the last lines it printed. What a program
   * mounts, the next one of the run sees, and nobody else; what it leaves running ends with the run. Long lines are cut.
   */
  program(file: string, args: readonly string[], options?: ProgramOptions): Promise<ProgramResult>;
}

export interface StagingOptions {
  /** Whether files are only moved and linked. */
  readonly movesOnly?: boolean;
}

export interface ProgramOptions {
  readonly cwd?: string;
  /** Added to a small fixed environment; nothing of muster's own is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Buffer | NodeJS.ReadableStream;
  /** Whether it may use the network; absent: it has none. */
  readonly network?: boolean;
  /** Takes its lines instead of the watchers. */
  output?(line: string): void;
  /** Takes standard output as it is; lines are then those of standard error alone. */
  stdout?(chunk: Buffer): void;
  /** Exit codes that are no failure; absent: 0. */
  readonly expect?: readonly number[];
}

export interface ProgramResult {
  readonly code: number;
}

/** What a module of long work exports. Job and result are plain JSON data. */
export interface WorkModule<Job, Made> {
  work(job: Job, task: Work): Promise<Made>;
}
