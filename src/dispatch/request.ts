import type { TokenScope } from '../access/token-scope.ts';
import type { Refusals } from '../access/refusals.ts';
import type { Answer, AnyCommand, CommandServices, Ranges } from '../commands/command.ts';
import type { WorkerServices } from '../commands/per-node.ts';
import type { NodeResult } from '../core/results.ts';
import type { RowChange } from '../database/changeset.ts';
import type { Seal } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { DaemonServers } from '../names/index.ts';
import type { ClientFiles, Effects } from '../nodes/index.ts';
import type { LongWork } from '../work/index.ts';
import type { WorkUnderWay } from './long.ts';
import type { NodeResults } from './per-node.ts';
import type { Run } from './run.ts';
import type { Runs } from './runs.ts';

/** One request for a command, from wherever it came. */
export interface Request {
  readonly command: AnyCommand;
  readonly args: unknown;
  /** The argument line as the reference system writes it, without secrets. */
  readonly words: readonly string[];
  /** What the audit log keeps of it. */
  readonly line: string;
  /** The node range or object names, for the audit log. */
  readonly range: string;
  readonly user: string;
  /** What the token is limited to; undefined: it is not, or none was used. */
  readonly scope: TokenScope | undefined;
  /** The peer's address. */
  readonly client: string;
  readonly token: string | undefined;
  /** The stored hash that the caller's password was checked with. */
  readonly login: string | undefined;
  /** How the caller showed who they are; noted in the audit log if unusual. */
  readonly note: string;
  readonly id: string;
  readonly dryRun: boolean;
  readonly expectNodes: number | undefined;
  readonly revision: number | undefined;
  readonly precondition?: Precondition | undefined;
  /** A revision or a time, for whoever wants to know how things were. */
  readonly at?: string | undefined;
  /** Aborted when the client leaves. */
  readonly signal: () => AbortSignal;
  /** The client does not wait for the end of the work. */
  readonly detached: boolean;
  /** Files that came with it; removed when its work has ended. */
  readonly files?: ClientFiles | undefined;
  /** Hears of the run's id before anything else happens. */
  began(run: string): void;
}

/** Refuses a write that was meant for another state: `tables` are those behind what it is about, if that is known. */
export type Precondition = (snapshot: Snapshot, tables: readonly string[] | undefined, exists: boolean) => void;

export interface Outcome {
  readonly run: Run;
  readonly revision: number;
  readonly snapshot: Snapshot;
  readonly answer: Answer | ({ readonly shape: 'stream' } & NodeResults) | WorkUnderWay | DryRun;
}

/** What would be done. */
export interface DryRun {
  readonly shape: 'dry-run';
  /** Of changes: the rows that would be written. */
  readonly changes?: readonly RowChange[];
  /** Objects that the request names. */
  readonly nodes: number;
  /** Of what works on nodes: whom it would be sent to and what they would get, or why a node is refused. */
  readonly results?: readonly NodeResult[];
}

/** What commands of all kinds are run with. */
export interface DispatchServices extends CommandServices, Ranges {
  readonly runs: Runs;
  readonly workerServices: WorkerServices;
  readonly effects: Effects;
  readonly longWork: LongWork;
  readonly daemons: DaemonServers;
  readonly seal: Seal;
  readonly audit: boolean;
  readonly refusals: Refusals;
}
