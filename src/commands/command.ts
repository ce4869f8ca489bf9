import { type Static, type TObject, type TSchema, Type } from 'typebox';
import type { SecretBox } from '../access/secrets.ts';
import type { TokenScope } from '../access/token-scope.ts';
import type { Finding } from '../core/finding.ts';
import type { Metrics } from '../core/metrics.ts';
import type { Loose } from '../core/settings.ts';
import type { Interruptible } from '../core/slices.ts';
import type { NodeValue } from '../core/results.ts';
import type { Draft } from '../database/draft.ts';
import type { Servers } from '../database/servers.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import type { Row } from '../database/tables.ts';
import type { Discovery, FirmwareRecords, Hardware, PasswordRotation, CertificateRenewal } from '../drivers/index.ts';
import type { NodeCatalog } from '../objects/catalog.ts';
import { knownNodes, type RangeOptions } from '../objects/cluster.ts';
import type { Permits } from '../objects/history.ts';
import { emptyRange } from '../objects/select.ts';
import type { BootServer, MachineDiscovery } from '../boot/index.ts';
import type { NetworkDiscovery, PowerBudgets, Remote, RemovedNodes, VitalsSeries } from '../nodes/index.ts';
import type { DaemonKind, Dhcp, Dns, Hosts, NodeDhcp } from '../names/index.ts';
import type { Workers } from '../bus/index.ts';
import type { Images } from '../images/index.ts';
import type { Consoles, ViewerSink } from '../consoles/index.ts';
import type { EventHub, Sink } from '../events/index.ts';
import type { AnyLong } from './long.ts';
import type { AnyNodeChange } from './node-change.ts';
import type { AnyPerNode } from './per-node.ts';

/** What commands may use besides the data they are given. Each names those that it uses, and gets no others. */
export interface CommandServices {
  readonly store: Store;
  readonly catalog: NodeCatalog;
  readonly runBoard: RunBoard;
  readonly hardware: Hardware;
  readonly discovery: Discovery;
  readonly rotation: PasswordRotation;
  readonly renewal: CertificateRenewal;
  readonly firmware: FirmwareRecords;
  readonly announcements: NetworkDiscovery;
  readonly machines: MachineDiscovery;
  readonly hosts: Hosts;
  readonly dns: Dns;
  readonly removedNodes: RemovedNodes;
  readonly dhcp: Dhcp;
  /** DHCP as nodes need it, also if another server has it. */
  readonly nodeDhcp: NodeDhcp;
  readonly remote: Remote;
  readonly powerBudgets: Pick<PowerBudgets, 'plan' | 'lastReport'>;
  readonly series: Pick<VitalsSeries, 'record' | 'shown' | 'watch'>;
  /** What secrets are stored with. */
  readonly secrets: Pick<SecretBox, 'seal' | 'open' | 'opens' | 'isSealed'>;
  readonly images: Images;
  readonly boot: BootServer;
  readonly events: Pick<EventHub, 'listen'>;
  readonly consoles: Consoles;
  /** Workers on service nodes; undefined: there is no bus. */
  readonly workers: Workers | undefined;
  /** Those of this database. */
  readonly servers: Pick<Servers, 'listAll' | 'forget'>;
  readonly metrics: Metrics;
  readonly selfCheck: { run(): Promise<readonly Finding[]>; readonly logFile: string | undefined };
  /** Of what Prometheus asks nodes. */
  readonly exporterPort: number;
}

export type ServiceName = keyof CommandServices;

/** How node ranges are read; for callers with limited rights it passes over nodes that they may know nothing of. */
export interface Ranges {
  readonly ranges: RangeOptions;
}

/** What a list shows of a run. */
export interface RunHead {
  readonly id: string;
  readonly command: string;
  readonly user: string;
  readonly nodes: number;
  readonly ok: number;
  readonly failed: number;
  readonly errorcode: number;
  readonly state: 'running' | 'finished' | 'cancelled' | 'interrupted';
  readonly started: string;
  readonly finished?: string;
  /** Of long work. */
  readonly progress?: { readonly done: number; readonly of: number; readonly line: string };
}

/** Which runs are listed. */
export interface RunFilter extends Partial<{ readonly [K in 'user' | 'command']: string | undefined }> {
  readonly state?: RunHead['state'] | undefined;
  readonly limit: number;
}

export interface RunList {
  readonly runs: readonly RunHead[];
  /** Why some may be missing. */
  readonly note?: string;
}

/** The runs of the last day, at whichever server; dispatch keeps them. `by`: a limited token asks, which sees only what it began. */
export interface RunBoard {
  /** What the user may see of the run; an unknown id and somebody else's run are the same error. */
  show(id: string, user: string, seesAll: boolean, by?: string): Promise<object>;
  /** Those of them that the user may see. */
  list(filter: RunFilter, user: string, seesAll: boolean, by?: string): Promise<RunList>;
  cancel(id: string, user: string, seesAll: boolean, by?: string): Promise<void>;
}

export interface Caller {
  readonly user: string;
  /** What the caller's token is limited to; undefined: it is not, or there is none. */
  readonly scope: TokenScope | undefined;
  /** The groups that the source of its account has it in. */
  readonly groups: readonly string[];
  readonly client: string;
  /** The client's address and, where a rule asks for them, its names. */
  readonly addresses: readonly string[];
  /** The hash of the token the caller used, if any. */
  readonly token: string | undefined;
  /** The stored hash that the caller's password was checked with, if one was. */
  readonly login: string | undefined;
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
  /** It is about every node as a whole, such as a service for all of them. */
  readonly every?: boolean;
}

/** One thing the policy is asked about a request. */
export interface Question {
  /** The argument line as the reference system writes it, without secrets. */
  readonly words: readonly string[];
  /** The objects it is about, where there are several questions. */
  readonly objects?: readonly string[];
  readonly nodes: readonly string[] | undefined;
  readonly every?: boolean | undefined;
  /** The command that it is asked for, if not the one that was called. */
  readonly command?: string;
}

/** Something that a request acts on besides the nodes it selects. */
export type ActionTarget =
  /** A machine that muster logs in to: a node is judged like the selected ones, anything else needs a rule without a noderange. */
  | { readonly kind: 'host'; readonly name: string }
  /** An address that the machine of the selected node gets: another node's needs rights on that node. */
  | { readonly kind: 'address'; readonly address: string }
  /** A master of virtual machines: its maker's, or opened by a rule. */
  | { readonly kind: 'master'; readonly name: string };

export const noSelection: Selection = { objects: undefined, nodes: undefined };
export const everyNode: Selection = { objects: undefined, nodes: undefined, every: true };

/** The nodes a command works on. What works on them may want at least one. */
export const nodeArguments = { range: Type.String(), refuseEmpty: Type.Optional(Type.Boolean()) } as const;
/** For readings that may show hidden nodes which a group of the range has. */
export const hiddenArgument = { hidden: Type.Optional(Type.Boolean()) } as const;
export type RangeArgs = Arguments<TObject<typeof nodeArguments>>;

/** The nodes of a range, each of which must exist. */
export function selectNodes(
  snapshot: Snapshot,
  { range, refuseEmpty, hidden }: RangeArgs & { readonly hidden?: boolean | undefined },
  { ranges }: Ranges,
): Selection {
  const nodes = knownNodes(snapshot, range, hidden ? { ...ranges, hidden } : ranges);
  if (nodes.length === 0 && refuseEmpty) throw emptyRange(range);
  return { objects: nodes, nodes };
}

/** For services that know of nodes: without a range it is about all of them. */
export const selectNodesOrAll = (
  snapshot: Snapshot,
  { range, refuseEmpty }: { readonly [K in keyof RangeArgs]?: RangeArgs[K] | undefined },
  ranges: Ranges,
): Selection => (range === undefined ? everyNode : selectNodes(snapshot, { range, refuseEmpty }, ranges));

/** The request that a command is run for. */
interface RequestScope extends Ranges {
  /** The id of this run, for the journal. */
  readonly run: string;
  readonly caller: Caller;
  readonly selection: Selection;
  /** For what is shown row by row. */
  readonly permits: Permits;
  /** The same by today's rules, of the nodes as they were. */
  permitsIn(past: Snapshot): Permits;
  /** Aborted when the client leaves. */
  signal(): AbortSignal;
}

/** All that a command gets besides data and arguments: the request, and the services that it uses. */
export type Scope<Uses extends ServiceName = never> = RequestScope & Pick<CommandServices, Uses>;

/** What a command answers; rest/ turns it into a body. */
export type Answer =
  /** The messages are for whoever asks for them: with debug=1, and in the run. */
  | {
      readonly shape: 'none';
      readonly messages?: readonly string[];
      /** What was taken though it looks wrong; nobody needs to ask for them. */
      readonly notes?: readonly string[];
    }
  | { readonly shape: 'list'; readonly items: readonly string[]; readonly dependsOn?: readonly string[] }
  | {
      readonly shape: 'value';
      readonly value: unknown;
      /** The token that the caller's browser is to keep, and when it ends. */
      readonly session?: { readonly id: string; readonly end: Date | undefined };
      readonly notes?: readonly string[];
      readonly dependsOn?: readonly string[];
    }
  | { readonly shape: 'text'; readonly type: string; readonly text: string }
  | EventStream
  | ConsoleEntrance
  | Objects
  | Rows
  | Items;

/** What happens, sent to a connection as it happens until that is over. */
export interface EventStream {
  readonly shape: 'events';
  listen(open: () => Sink): Promise<void>;
}

/** The console of a node, for a connection that has become a WebSocket. */
export interface ConsoleEntrance {
  readonly shape: 'console';
  /** Resolves when whoever entered has left. */
  enter(sink: ViewerSink): Promise<void>;
}

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

/** An object with one member that is a long list, whose items are made one by one when they are sent. */
export interface Items {
  readonly shape: 'items';
  readonly member: string;
  readonly items: Iterable<unknown>;
  /** What stands before the list and behind it. */
  readonly before?: object;
  readonly after?: object;
}

export const nothing: Answer = { shape: 'none' };

export interface CommandBase<Args, Uses extends ServiceName = ServiceName> {
  /** What policies name. */
  readonly name: string;
  /** The services that its steps get; absent: none. */
  readonly uses?: readonly Uses[] | undefined;
  /** What its arguments are, for whoever calls it from outside this program. */
  readonly args: TSchema;
  /** The argument line as the reference system writes it, secrets replaced: policies match on it and the audit log keeps it. */
  line(args: Args): readonly string[] | Interruptible<readonly string[]>;
  /** Every account may run it for itself; no rule is asked. */
  readonly free?: boolean;
  /** Commands whose work it does too: the policy is asked for each of them, by `questions`. */
  also?(args: Args): readonly string[];
  /** What the policy is asked, where one line for all that was selected is not enough. */
  questions?(snapshot: Snapshot, args: Args): Interruptible<readonly Question[]> | undefined;
  /** What is read on the way, for which the policy is asked whether the caller may list it. */
  reads?(snapshot: Snapshot, args: Args): Question | undefined;
  /** What it acts on besides the nodes it selects; each is judged before anything is done. */
  actsOn?(args: Args): readonly ActionTarget[];
  /** The tables that a reading of what it changes shows. */
  tablesShown?(args: Args): readonly string[];
  /** Undefined: it touches no object of the cluster. */
  select?(
    snapshot: Snapshot,
    args: Args,
    ranges: Ranges,
    permits: Permits,
    user: string,
  ): Selection | Interruptible<Selection>;
}

/** Reads one snapshot, at once. */
export interface Query<Args, Uses extends ServiceName = ServiceName> extends CommandBase<Args, Uses> {
  readonly kind: 'query';
  /** What it reads: the server that has it answers. */
  readonly daemon?: DaemonKind;
  /** Whether it can read an earlier snapshot as well. */
  showsPast?(args: Args): boolean;
  run(snapshot: Snapshot, args: Args, scope: Scope<Uses>): Answer | Promise<Answer>;
}

/** Computes a change set; dispatch commits it. Called again if somebody else's change came first, so it must have no other effect. */
export interface Change<Args, Uses extends ServiceName = ServiceName> extends CommandBase<Args, Uses> {
  readonly kind: 'change';
  /** Slow work on the arguments before a change set is computed, such as hashing a password. The policy was not asked yet, so it reveals nothing; `isLimited`: the policy does not allow the caller everything. */
  prepare?(args: Args, services: Pick<CommandServices, Uses>, isLimited: boolean): Promise<Args>;
  /** The revision of the change set that it takes back. */
  reverts?(args: Args): number | undefined;
  plan(draft: Draft, args: Args, scope: Scope<Uses>): Answer | Interruptible<Answer>;
}

/** Does one thing outside the database, such as writing a file, for all it names at once; refuses before it touches anything. Outlives the client. */
export interface Act<Args, Uses extends ServiceName = ServiceName> extends CommandBase<Args, Uses> {
  readonly kind: 'act';
  /** What it changes: the server that has it does the work. */
  readonly daemon?: DaemonKind;
  run(snapshot: Snapshot, args: Args, scope: Scope<Uses>): Promise<Answer>;
}

export type Command<Args> =
  | Query<Args>
  | Change<Args>
  | AnyNodeChange<Args>
  | Act<Args>
  | AnyPerNode<Args>
  | AnyLong<Args>;

/** Nodes, devices or programs do its work, or a part of it: it may take long, and results come as they are there. */
export const worksOutside = (command: AnyCommand): boolean =>
  command.kind === 'long' || command.kind === 'per-node' || 'after' in command;

/** Whether dryRun=1 has a meaning for it. */
export const canBeTried = (command: AnyCommand): boolean =>
  command.kind === 'change' || (command.kind === 'per-node' && command.sentTo !== undefined);

// A registry holds commands of all argument types; each endpoint row pairs a command with arguments of its type.
export type AnyCommand = Command<never>;

/** Arguments as a schema says; a member that may be absent may be undefined too. */
export type Arguments<Schema extends TSchema> = Loose<Static<Schema>>;

/** A command of one kind, declared: its arguments are typed by their schema, its scope by the services that it names. */
export type Declared<Kind, Schema extends TSchema, Uses extends ServiceName> = Omit<Kind, 'kind' | 'args' | 'uses'> & {
  readonly args: Schema;
  readonly uses?: readonly Uses[];
};

export const query = <S extends TSchema, Uses extends ServiceName = never>(
  command: Declared<Query<Arguments<S>, Uses>, S, Uses>,
): Query<Arguments<S>, Uses> => ({ kind: 'query', ...command });
export const change = <S extends TSchema, Uses extends ServiceName = never>(
  command: Declared<Change<Arguments<S>, Uses>, S, Uses>,
): Change<Arguments<S>, Uses> => ({ kind: 'change', ...command });
export const act = <S extends TSchema, Uses extends ServiceName = never>(
  command: Declared<Act<Arguments<S>, Uses>, S, Uses>,
): Act<Arguments<S>, Uses> => ({ kind: 'act', ...command });

/** For services that know of nodes: without a range the service itself is set up. */
export const serviceArguments = Type.Object({
  range: Type.Optional(Type.String()),
  refuseEmpty: Type.Optional(Type.Boolean()),
  remove: Type.Optional(Type.Boolean()),
});
export const serviceLine = ({ range, remove }: Arguments<typeof serviceArguments>): readonly string[] =>
  range === undefined ? ['-n'] : remove ? ['-d'] : [];
export const textMap = Type.Record(Type.String(), Type.String());
/** Objects of any types; those of one definition are written alike. */
export const definitionSet = Type.Array(
  Type.Object({ type: Type.String(), names: Type.String(), attributes: textMap }),
);
export const noArguments = Type.Object({});
export const noLine = (): readonly string[] => [];
