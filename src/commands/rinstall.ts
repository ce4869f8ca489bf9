import { setImmediate as nextTurn } from 'node:timers/promises';
import { Type } from 'typebox';
import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import type { Interruptible } from '../core/slices.ts';
import type { DeviceTarget } from '../drivers/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import {
  type BootStates,
  type BootWatch,
  checkNode,
  checkProvisioned,
  goalOf,
  parseBootStates,
  planBootStates,
  stateTables,
  withReservations,
} from '../boot/index.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { nodeChange } from './node-change.ts';
import { deviceAddress } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  state: Type.Optional(Type.String({ description: 'what nodes are to boot; without it the image of each' })),
  watch: Type.Boolean({ description: 'waits until they have booted' }),
  seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800, description: 'that a node has to boot' })),
});

/** Nodes that are looked at before others get their turn. */
const nodesPerTurn = 64;

interface Target {
  readonly nextBoot: DeviceTarget;
  readonly power: DeviceTarget;
}

/** Nodes that can be provisioned, each with its target, and why others cannot. */
interface Held {
  readonly targets: ReadonlyMap<string, Target>;
  /** Absent in a dry run. */
  readonly watches: ReadonlyMap<string, BootWatch>;
  readonly failed: readonly NodeResult[];
}

/**
 * Boot state, next boot from the network, power, and watching until the node has booted. The right to run it is the right to all of
 * them. States are set in one change set; what follows is done on so many nodes at a time as may boot at once.
 */
export const rinstall = nodeChange({
  name: 'rinstall',
  args,
  uses: ['hardware', 'boot', 'dhcp'],
  line: ({ state }) => (state === undefined ? [] : [withoutSecrets(state)]),
  select: selectNodes,
  decides: stateTables,
  async prepare(snapshot, { state, seconds }, { hardware, boot, selection, caller }, isDryRun): Promise<Held> {
    const states = statesOf(state);
    checkProvisioned(states);
    const reader = effectiveReader(snapshot);
    const nextBoot = hardware.targets(snapshot, 'rinstall', 'nextBoot');
    const power = hardware.targets(snapshot, 'rinstall', 'power');
    const targets = new Map<string, Target>();
    const failed: NodeResult[] = [];
    for (const [index, node] of (selection.nodes ?? []).entries()) {
      // Others get their turn: awaiting targets that are there already lets nobody else in.
      if (index % nodesPerTurn === nodesPerTurn - 1) await nextTurn();
      try {
        checkNode(reader, node, states);
        boot.watcher.checkFree(node);
        targets.set(node, { nextBoot: await nextBoot(node), power: await power(node) });
      } catch (error) {
        failed.push(failureOf(node, error));
      }
    }
    const watches = new Map<string, BootWatch>();
    for (const node of isDryRun ? [] : targets.keys()) {
      try {
        watches.set(node, boot.watcher.claim(node, caller.user, seconds));
      } catch (error) {
        // Somebody else was quicker.
        targets.delete(node);
        failed.push(failureOf(node, error));
      }
    }
    return { targets, watches, failed };
  },
  async release({ watches }, { boot }) {
    for (const watch of watches.values()) boot.watcher.release(watch);
    await boot.watcher.flush();
  },
  *plan(draft, { state }, { selection }, { targets, failed }): Interruptible<readonly NodeResult[]> {
    // A node may have been removed meanwhile.
    const nodes = (selection.nodes ?? []).filter((node) => targets.has(node));
    return [...failed, ...(yield* planBootStates(draft, nodes, statesOf(state)))];
  },
  async *after(planned, given, scope, { targets, watches }): AsyncIterable<readonly NodeResult[]> {
    const { boot, dhcp, snapshot, run, cancelled, again, caller } = scope;
    const origin = { user: caller.user, client: caller.client, command: 'rinstall', run };
    const brought = await withReservations(dhcp, snapshot, planned, statesOf(given.state), origin);
    yield* asTheyCome(brought, brought.length, async (result) => {
      if ('error' in result || !('value' in result)) return result;
      const watch = watches.get(result.node)!;
      const { bootstate } = result.value as { readonly bootstate: string };
      const start = () => again([result.node], { shared: {}, target: () => targets.get(result.node)! });
      try {
        return await boot.watcher.inTurn(cancelled, () => provision(watch, bootstate, start, given.watch, cancelled));
      } catch (error) {
        return failureOf(result.node, error);
      } finally {
        boot.watcher.release(watch);
      }
    });
  },
  async work(_shared, { nextBoot, power }: Target, task): Promise<NodeResult<{ readonly power: string }>> {
    await step('it could not be set to boot from the network', () =>
      task.devices.use(nextBoot, 'nextBoot', task, (device) =>
        device.set('net', { persistent: false, mode: undefined }, task.signal),
      ),
    );
    const state = await step('it boots from the network next, but could not be powered on', () =>
      task.devices.use(power, 'power', task, (device) => device.set('boot', task.signal)),
    );
    return { node: task.node, value: { power: state } };
  },
  sentTo: ({ targets }, node) => deviceAddress(targets.get(node)!.power),
});

const statesOf = (state: string | undefined): BootStates => parseBootStates(state ?? 'osimage');

async function provision(
  watch: BootWatch,
  state: string,
  start: () => AsyncIterable<readonly NodeResult<unknown>[]>,
  waits: boolean,
  cancelled: AbortSignal,
): Promise<NodeResult> {
  const { node } = watch;
  const began = Date.now();
  watch.begin(state);
  for await (const [result] of start()) if (result && !('value' in result)) return result;
  watch.poweredOn();
  if (!waits) return { node, value: { provision: 'powered on' } };
  await watch.end(cancelled);
  const seconds = String(Math.round((Date.now() - began) / 1_000));
  return { node, value: { provision: goalOf(state) === 'booted' ? 'booted' : state, seconds } };
}

/** What fails says how far it has come. */
async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const [first = '', ...more] = error.sentences;
    throw new Fault(error.kind, [`${name}: ${first}`, ...more]);
  }
}

function failureOf(node: string, error: unknown): NodeResult {
  if (error instanceof Fault) return nodeFailure(node, error);
  throw error;
}
