import { type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { Effect } from '../core/effects.ts';
import { Fault, type FaultData, unlessFault } from '../core/errors.ts';
import { suggestion } from '../core/nearest.ts';
import type { NodeResult, NodeValue, PassOn } from '../core/results.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { type Capabilities, type Devices, type DeviceTarget, paceText, type RackPace } from '../drivers/index.ts';
import type { Room } from '../protocols/ssh/collected.ts';
import { hostAndPort } from '../protocols/ssh/target.ts';
import type { CargoRoot, LocalFiles, NodeProbes, RemoteNodes, RemoteTarget } from '../nodes/index.ts';
import {
  type Arguments,
  type CommandBase,
  type Declared,
  nodeArguments,
  type RangeArgs,
  type Ranges,
  type Scope,
  type Selection,
  selectNodes,
  type ServiceName,
} from './command.ts';

/**
 * Works on each node apart; results come one by one. `prepare`, where the database is, refuses and makes plain JSON data; `work` does
 * one node with that data, in whatever process; `finish`, where the database is again, sees all results. Effects are what `work` reports.
 */
export interface PerNode<
  Args,
  Shared = unknown,
  Target = unknown,
  Value = NodeValue,
  Uses extends ServiceName = ServiceName,
> extends CommandBase<Args, Uses> {
  readonly kind: 'per-node';
  /** Whether the work goes on when the client leaves, as what changes something does. Absent: it does not. */
  outlivesClient?(args: Args): boolean;
  /** It may change something though it ends with the client: it is noted in the audit log before anything is sent. */
  readonly isNotedFirst?: boolean;
  prepare(snapshot: Snapshot, args: Args, scope: Scope<Uses>): Plan<Shared, Target>;
  /** Refuses what somebody has to confirm first; a dry run needs no confirmation. */
  confirm?(args: Args, scope: Scope<Uses>): void;
  /** Whom the work on a node is sent to, as a dry run says it; a Fault says why it cannot be. Absent: nothing is sent to anybody. */
  sentTo?(target: Target, shared: Shared): SentTo;
  /** What a dry run shows besides, for which it may read from the hardware. */
  preview?(shared: Shared, target: Target, task: Task): Promise<Readonly<Record<string, string>>>;
  /** What of the work workers on service nodes may do; absent: none of it. */
  readonly onWorkers?: OnWorkers<Target, Shared> | undefined;
  /** A Fault is the node's failure. */
  work(shared: Shared, target: Target, task: Task): Promise<NodeResult<Value>>;
  finish?(
    results: AsyncIterable<readonly NodeResult<Value>[]>,
    args: Args,
    scope: FinishScope<Shared, Target, Value, Uses>,
  ): AsyncIterable<readonly NodeResult[]>;
}

/** One whose data only it itself understands. */
export type AnyPerNode<Args = unknown> = PerNode<Args, unknown, unknown, unknown>;

/** Work that a process without a database does for a server, and what the server takes from it. */
export interface OnWorkers<Target, Shared = unknown> {
  /** What the work may report. Anything else that comes from a worker is not kept. */
  readonly effects: readonly Effect['kind'][];
  /** Whether it can come of what was asked for, beyond its kind; absent: each of those kinds can. */
  mayReport?(effect: Effect, shared: Shared): boolean;
  /** It logs in to nodes: the worker gets muster's SSH key with the job. */
  readonly needsSsh?: boolean;
  /** The files of the server that the work sends; a worker gets these and no others. Absent: none. */
  files?(shared: Shared): SentFiles;
  /** Milliseconds that the caller gives each node, on top of what a worker has for a job; absent: none. */
  ownTimeout?(shared: Shared): number;
  /** Whether a worker can work on the target; absent: on each. */
  takes?(target: Target): boolean;
  /** How to find out what became of a node whose worker was lost, as an imperative sentence. */
  howToLook(node: string): string;
}

/** Files that a command sends to nodes. */
export interface SentFiles {
  readonly roots: readonly CargoRoot[];
  /** Where files of the client are. */
  readonly received?: string | undefined;
}

/** An address or host, and what else says where it is; without secrets. */
export interface SentTo {
  /** The kind of hardware. */
  readonly mgt?: string;
  readonly address?: string;
  /** The service node on the way. */
  readonly via?: string;
  /** The worker that does it; absent: this server. */
  readonly worker?: string;
  /** The account there. */
  readonly user?: string;
  /** Where a virtual machine is moved to. */
  readonly to?: string;
  /** Those of PDUs that are switched. */
  readonly outlets?: string;
  /** How many may begin in its rack, where that is limited. */
  readonly pace?: string;
}

export const deviceAddress = ({ driver, address }: DeviceTarget): SentTo => ({ mgt: driver, address });

export function nodeAddress(found: RemoteTarget | FaultData): SentTo {
  const target = unlessFault(found);
  return { address: hostAndPort(target), user: target.user, ...(target.jump ? { via: target.jump.name } : {}) };
}

/** What is to be done on nodes. Secrets are open in it: it goes to whoever does the work, and into no log. */
export interface Plan<Shared, Target> {
  /** What the nodes have in common; complete when their targets are there. */
  readonly shared: Shared;
  /** What the work on a node needs to know of it; a Fault is the node's failure. */
  target(node: string): Target | Promise<Target>;
  /** Nodes that are worked on at a time. Absent: as many as there are, of which only some wait for their devices. */
  readonly width?: number | undefined;
  /** Nodes that are begun in one turn of the event loop; absent: a few hundred. */
  readonly burst?: number | undefined;
}

/** The work on one node. */
export interface Task extends WorkerServices {
  readonly node: string;
  readonly command: string;
  /** Who asked for it. */
  readonly user: string;
  readonly signal: AbortSignal;
  /** Files of this machine, for as long as the command is at work. */
  readonly files: LocalFiles;
  /** Room for output that is kept; absent: there is enough. */
  readonly room?: (() => Room) | undefined;
  /** Takes output that is more than can be kept; absent: nobody reads it. */
  readonly passOn?: (() => PassOn | undefined) | undefined;
  /** The turn that a node had to wait for has come: others may begin to wait for theirs. */
  begun(): void;
  /** Waited for before something is changed, where another process keeps count of what may have happened. */
  readonly goAhead?: (() => Promise<void>) | undefined;
  /** What is reported is kept before the result of the node counts. */
  report(effect: Effect): void;
  /** The same, and resolves when it is kept. */
  keep(effect: Effect): Promise<void>;
}

/** What a process that works on nodes has for it. */
export interface WorkerServices {
  readonly devices: Devices;
  readonly remote: RemoteNodes;
  readonly probes: NodeProbes;
}

export type FinishScope<Shared, Target, Value, Uses extends ServiceName = never> = Scope<Uses> & {
  readonly snapshot: Snapshot;
  /** Aborted when the run is cancelled. */
  readonly cancelled: AbortSignal;
  /** Has more work done by the same command. */
  again(nodes: readonly string[], plan: Plan<Shared, Target>): AsyncIterable<readonly NodeResult<Value>[]>;
};

export const perNode = <S extends TSchema, Shared, Target, Value = NodeValue, Uses extends ServiceName = never>(
  command: Declared<PerNode<Arguments<S>, Shared, Target, Value, Uses>, S, Uses>,
): PerNode<Arguments<S>, Shared, Target, Value, Uses> => ({ kind: 'per-node', ...command });

/**
 * A command that uses one capability of the hardware of a range's nodes. `check` refuses arguments before nodes are looked for; what
 * `reads` changes nothing. With `asksItself` the work waits for the go-ahead where it is about to change something, not before.
 */
export const onHardware = <P extends TProperties, K extends keyof Capabilities, Value = NodeValue>(
  name: string,
  needs: K,
  args: P,
  work: (capability: NonNullable<Capabilities[K]>, args: HardwareArgs<P>, task: Task) => Promise<Value>,
  check?: (args: HardwareArgs<P>) => void,
  reads: (args: HardwareArgs<P>) => boolean = () => false,
  asksItself = false,
) => ({
  name,
  args: Type.Object({ ...nodeArguments, ...args }) as HardwareSchema<P>,
  uses: ['hardware'] as const,
  select(snapshot: Snapshot, given: HardwareArgs<P>, ranges: Ranges): Selection {
    check?.(given);
    return selectNodes(snapshot, given as RangeArgs, ranges);
  },
  prepare: (
    snapshot: Snapshot,
    given: HardwareArgs<P>,
    { hardware }: Scope<'hardware'>,
  ): Plan<HardwareArgs<P>, DeviceTarget> => ({
    shared: given,
    target: hardware.targets(snapshot, name, needs),
  }),
  sentTo: deviceAddress,
  onWorkers: hardwareOnWorkers([]),
  work: (given: HardwareArgs<P>, target: DeviceTarget, task: Task): Promise<NodeResult<Value>> =>
    useDevice(
      target,
      needs,
      asksItself && task.goAhead ? { ...task, goAhead: undefined } : task,
      (capability) => work(capability, given, task),
      reads(given),
    ),
});

/** Work on hardware, which may report these besides the first certificate of a BMC. */
export const hardwareOnWorkers = (
  effects: readonly Effect['kind'][],
  howToLook = (_node: string): string => 'Read what it changes before you send it again.',
): OnWorkers<DeviceTarget> => ({
  effects: ['certificate', 'progress', ...effects],
  takes: ({ staysHere }) => staysHere !== true,
  howToLook,
});

/** Work on nodes by SSH. */
export const sshOnWorkers = (effects: readonly Effect['kind'][] = []): Omit<OnWorkers<unknown>, 'takes'> => ({
  effects: ['host-key', 'progress', ...effects],
  needsSsh: true,
  howToLook: (node) => `Log in to ${node} and look before you send it again.`,
});

type HardwareSchema<P extends TProperties> = TObject<typeof nodeArguments & P>;
type HardwareArgs<P extends TProperties> = Arguments<HardwareSchema<P>>;

/** Has what is removed though muster did not make it named in the audit log. */
export const foreignRemoval =
  ({ report }: Task) =>
  (what: string): void =>
    report({ kind: 'foreign-removed', what });

/** Waits until one more machine of the rack may be powered on. What waits holds up neither its device nor other racks. */
export async function rackTurn(pace: RackPace | undefined, { devices, signal, begun, report }: Task): Promise<void> {
  if (!pace) return;
  await devices.paces.turn(pace, signal, (before) => {
    begun();
    const others = before === 0 ? '' : ` ${before} of them come first.`;
    report({ kind: 'progress', sentence: `It waits: muster powers on at most ${paceText(pace)}.${others}` });
  });
}

/** Refuses a word that is none of those a command knows. */
export function checkWord(word: string, known: readonly string[], what: string): void {
  if (!known.includes(word))
    throw new Fault('invalid', `"${word}" is not a ${what}; known are ${known.join(', ')}.${suggestion(word, known)}`);
}

/** Works on a node by a capability of its hardware. */
export function useDevice<K extends keyof Capabilities, Value>(
  target: DeviceTarget,
  needs: K,
  task: Task,
  work: (capability: NonNullable<Capabilities[K]>) => Promise<Value>,
  reads = false,
): Promise<NodeResult<Value>> {
  const { devices, node } = task;
  const used = reads ? devices.read(target, needs, task, work) : devices.use(target, needs, task, work);
  return used.then((value) => ({ node, value }));
}
