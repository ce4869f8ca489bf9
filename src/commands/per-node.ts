import { type TObject, type TProperties, type TSchema, Type } from 'typebox';
import type { Effect } from '../core/effects.ts';
import { Fault, type FaultData, unlessFault } from '../core/errors.ts';
import { suggestion } from '../core/nearest.ts';
import type { NodeResult, NodeValue, PassOn } from '../core/results.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Capabilities, Devices, DeviceTarget } from '../drivers/index.ts';
import type { Room } from '../protocols/ssh/collected.ts';
import { hostAndPort } from '../protocols/ssh/target.ts';
import type { LocalFiles, NodeProbes, RemoteNodes, RemoteTarget } from '../nodes/index.ts';
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
  /** Whom the work on a node is sent to, as a dry run says it; a Fault says why it cannot be. Absent: nothing is sent to anybody. */
  sentTo?(target: Target): SentTo;
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

/** An address or host, and what else says where it is; without secrets. */
export interface SentTo {
  /** The kind of hardware. */
  readonly mgt?: string;
  readonly address?: string;
  /** The service node on the way. */
  readonly via?: string;
  /** The account there. */
  readonly user?: string;
  /** Where a virtual machine is moved to. */
  readonly to?: string;
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
  /** What is reported is kept before the result of the node counts. */
  report(effect: Effect): void;
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
 * `reads` changes nothing.
 */
export const onHardware = <P extends TProperties, K extends keyof Capabilities, Value = NodeValue>(
  name: string,
  needs: K,
  args: P,
  work: (capability: NonNullable<Capabilities[K]>, args: HardwareArgs<P>, task: Task) => Promise<Value>,
  check?: (args: HardwareArgs<P>) => void,
  reads: (args: HardwareArgs<P>) => boolean = () => false,
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
  work: (given: HardwareArgs<P>, target: DeviceTarget, task: Task): Promise<NodeResult<Value>> =>
    useDevice(target, needs, task, (capability) => work(capability, given, task), reads(given)),
});

type HardwareSchema<P extends TProperties> = TObject<typeof nodeArguments & P>;
type HardwareArgs<P extends TProperties> = Arguments<HardwareSchema<P>>;

/** Has what is removed though muster did not make it named in the audit log. */
export const foreignRemoval =
  ({ report }: Task) =>
  (what: string): void =>
    report({ kind: 'foreign-removed', what });

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
