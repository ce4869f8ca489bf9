import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import type { Row } from '../database/tables.ts';
import type { Discovery } from '../drivers/discovery.ts';
import type { Hardware } from '../drivers/hardware.ts';
import type { NodeCatalog } from '../objects/catalog.ts';
import { knownNodes, type RangeOptions } from '../objects/cluster.ts';
import { emptyRange } from '../objects/select.ts';
import type { NetworkDiscovery } from '../services/discovery/discovery.ts';
import type { Dhcp } from '../services/dhcp/dhcp.ts';
import type { Dns } from '../services/dns/dns.ts';
import type { Hosts } from '../services/hosts/hosts.ts';
import type { NodeProbes } from '../services/node-probes.ts';
import type { NodeOutput } from '../services/remote/node-output.ts';
import type { Remote } from '../services/remote/remote.ts';
import type { NodeStatus } from '../services/node-status.ts';

/** What commands may use besides the data they are given. */
export interface CommandServices {
  readonly store: Store;
  readonly catalog: NodeCatalog;
  readonly ranges: RangeOptions;
  readonly runs: RunBoard;
  readonly hardware: Hardware;
  readonly status: NodeStatus;
  readonly discovery: Discovery;
  readonly announcements: NetworkDiscovery;
  readonly hosts: Hosts;
  readonly dns: Dns;
  readonly dhcp: Dhcp;
  readonly probes: NodeProbes;
  readonly remote: Remote;
}

/** The runs of the last day; dispatch keeps them. */
export interface RunBoard {
  /** What the user may see of the run; an unknown id and somebody else's run are the same error. */
  show(id: string, user: string, seesAll: boolean): unknown;
  cancel(id: string, user: string, seesAll: boolean): void;
}

export interface Caller {
  readonly user: string;
  readonly client: string;
  /** The hash of the token the caller used, if any. */
  readonly token: string | undefined;
  /** Whether the policy lets the caller do everything. */
  hasFullRights(): boolean;
}

/** What a request is about: the objects it names, and the nodes the policy is asked about. */
export interface Selection {
  /** Those that exist. Undefined: the request is not about objects. */
  readonly objects: readonly string[] | undefined;
  /** Names of objects that do not exist; commands that cannot make them refuse them in `select`. */
  readonly missing?: readonly string[];
  readonly nodes: readonly string[] | undefined;
}

export const noSelection: Selection = { objects: undefined, nodes: undefined };

/** The nodes of a range, each of which must exist; what works on them may want at least one. */
export function selectNodes(
  snapshot: Snapshot,
  { range, refuseEmpty }: { readonly range: string; readonly refuseEmpty?: boolean },
  { ranges }: CommandServices,
): Selection {
  const nodes = knownNodes(snapshot, range, ranges);
  if (nodes.length === 0 && refuseEmpty) throw emptyRange(range);
  return { objects: nodes, nodes };
}

/** All that a command gets besides data and arguments. */
export interface Scope extends CommandServices {
  /** The id of this run, for the journal. */
  readonly run: string;
  readonly caller: Caller;
  readonly selection: Selection;
  /** Aborted when the client leaves. */
  signal(): AbortSignal;
}

/** What a command answers; rest/ turns it into a body. */
export type Answer =
  /** The messages are for whoever asks for them: with debug=1, and in the run. */
  | { readonly shape: 'none'; readonly messages?: readonly string[] }
  | { readonly shape: 'list'; readonly items: readonly string[]; readonly dependsOn?: readonly string[] }
  | { readonly shape: 'value'; readonly value: unknown }
  | Objects
  | Rows;

/** Attributes, some of which may be lists; or lines. */
export type NodeValue = Readonly<Record<string, string | readonly string[]>> | readonly string[];

/** Objects with their attributes, made one by one when they are sent. */
export interface Objects {
  readonly shape: 'objects';
  readonly names: readonly string[];
  attributes(name: string): NodeValue;
  /** The JSON text of the attributes, if that is cheaper than making it from `attributes`. */
  text?(name: string): string;
  /** These are all nodes with all attributes, so that the catalog's listing of this snapshot serves. */
  readonly wholeCatalog?: boolean;
  /** The tables the answer is made from; it stays the same while they do. */
  readonly dependsOn?: readonly string[];
}

/** Rows by table, made one by one when they are sent. */
export interface Rows {
  readonly shape: 'rows';
  readonly tables: readonly (readonly [table: string, rows: Iterable<Row>])[];
}

export const nothing: Answer = { shape: 'none' };

interface CommandBase<Args> {
  /** What policies name. */
  readonly name: string;
  /** Further names rules may use for it. */
  readonly aliases?: readonly string[];
  /** Every account may run it for itself; no rule is asked. */
  readonly free?: boolean;
  /** Undefined: it touches no object of the cluster. */
  select?(snapshot: Snapshot, args: Args, services: CommandServices): Selection;
}

/** Reads one snapshot, at once. */
export interface Query<Args> extends CommandBase<Args> {
  readonly kind: 'query';
  run(snapshot: Snapshot, args: Args, scope: Scope): Answer | Promise<Answer>;
}

/** Computes a change set; dispatch commits it. Called anew if somebody else's change came first, so it must have no other effect. */
export interface Change<Args> extends CommandBase<Args> {
  readonly kind: 'change';
  /** Slow work on the arguments that needs no snapshot, such as hashing a password. */
  prepare?(args: Args): Promise<Args>;
  plan(draft: Draft, args: Args, scope: Scope): Answer;
}

/** Works on each node apart and tells results as they come. */
export interface PerNode<Args> extends CommandBase<Args> {
  readonly kind: 'per-node';
  /** Whether the work goes on when the client leaves, as what changes something does. Absent: it does not. */
  outlivesClient?(args: Args): boolean;
  /** It may change something though it ends with the client: it is noted in the audit log before anything is sent. */
  readonly isNotedFirst?: boolean;
  run(snapshot: Snapshot, args: Args, scope: Scope, signal: AbortSignal): AsyncIterable<NodeResult>;
}

/**
 * Does one thing outside the database for all it names at once, such as writing a file or telling a daemon. What can be refused is
 * refused before anything is touched, and a failure leaves what was there. It goes on when the client leaves.
 */
export interface Act<Args> extends CommandBase<Args> {
  readonly kind: 'act';
  run(snapshot: Snapshot, args: Args, scope: Scope): Promise<Answer>;
}

/**
 * `kind` says what kind of failure it was if that is more than "it failed": what all nodes share decides the status. `output` is what
 * a command that failed has printed.
 */
export type NodeResult =
  | { readonly node: string; readonly value: NodeValue | NodeOutput }
  | {
      readonly node: string;
      readonly error: string;
      readonly kind?: NodeFailure | undefined;
      readonly output?: NodeOutput | undefined;
    };

/** Past the deadline; an answer that cannot be understood. */
export type NodeFailure = 'deadline' | 'garbled';

export type Command<Args> = Query<Args> | Change<Args> | Act<Args> | PerNode<Args>;

// A registry holds commands of all argument types; each endpoint row pairs a command with arguments of its type.
export type AnyCommand = Command<never>;

export const query = <Args>(command: Omit<Query<Args>, 'kind'>): Query<Args> => ({ kind: 'query', ...command });
export const change = <Args>(command: Omit<Change<Args>, 'kind'>): Change<Args> => ({ kind: 'change', ...command });
export const act = <Args>(command: Omit<Act<Args>, 'kind'>): Act<Args> => ({ kind: 'act', ...command });
export const perNode = <Args>(command: Omit<PerNode<Args>, 'kind'>): PerNode<Args> => ({
  kind: 'per-node',
  ...command,
});
