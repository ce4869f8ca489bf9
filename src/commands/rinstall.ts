import { setImmediate as nextTurn } from 'node:timers/promises';
import { Type } from 'typebox';
import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import { inSlices, type Interruptible } from '../core/slices.ts';
import { type DeviceTarget, paceText, type RackPace, refuseSharedBmc } from '../drivers/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import {
  type BootNote,
  type BootServer,
  type BootStates,
  type BootWatch,
  checkNode,
  checkProvisioned,
  goalOf,
  goalOnMedium,
  imagesWanted,
  isAsSet,
  type OfferedMedium,
  parseBootStates,
  planBootStates,
  type ReadinessByImage,
  rowsOfState,
  type StateRows,
  stateTables,
  undoState,
  withReservations,
} from '../boot/index.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { nodeChange } from './node-change.ts';
import { deviceAddress, rackTurn, type Task } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  state: Type.Optional(Type.String({ description: 'what nodes are to boot; without it the image of each' })),
  force: Type.Optional(Type.Boolean({ description: 'also what cannot boot now' })),
  media: Type.Optional(Type.Boolean({ description: 'they boot from virtual media instead of the network' })),
  watch: Type.Boolean({ description: 'waits until they have booted' }),
  seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800, description: 'that a node has to boot' })),
});

/** Nodes that are looked at before others get their turn. */
const nodesPerTurn = 64;

interface Target {
  readonly nextBoot: DeviceTarget;
  readonly power: DeviceTarget;
  readonly pace?: RackPace | undefined;
  /** Where a medium is inserted; without, it boots from the network. */
  readonly media?: DeviceTarget | undefined;
  readonly medium?: OfferedMedium | undefined;
}

/** Nodes that can be provisioned, each with its target, and why others cannot. */
interface Held {
  readonly targets: ReadonlyMap<string, Target>;
  /** Absent in a dry run. */
  readonly watches: ReadonlyMap<string, BootWatch>;
  readonly failed: readonly NodeResult[];
  readonly readiness: ReadinessByImage;
  /** What each was set to before; `plan` puts it here. */
  readonly before: Map<string, StateRows>;
}

/**
 * Boot state, next boot from the network, power, and watching until the node has booted. The right to run it is the right to all of
 * them. States are set in one change set; what follows is done on so many nodes at a time as may boot at once.
 */
export const rinstall = nodeChange({
  name: 'rinstall',
  args,
  uses: ['hardware', 'boot', 'nodeDhcp', 'store'],
  line: ({ state, force, media }) => [
    ...(state === undefined ? [] : [withoutSecrets(state)]),
    ...(force ? ['--force'] : []),
    ...(media ? ['--media'] : []),
  ],
  select: selectNodes,
  decides: stateTables,
  async prepare(snapshot, { state, seconds, media }, scope, isDryRun): Promise<Held> {
    const { hardware, boot, selection, caller, run } = scope;
    const states = statesOf(state);
    checkProvisioned(states);
    if (media && state === 'boot')
      throw new Fault('invalid', 'With the state boot nodes boot from their disks, for which they need no medium.');
    const reader = effectiveReader(snapshot);
    const readiness = await boot.readiness(
      snapshot,
      await inSlices(imagesWanted(reader, selection.nodes ?? [], states)),
    );
    const nextBoot = hardware.targets(snapshot, 'rinstall', 'nextBoot');
    const power = hardware.targets(snapshot, 'rinstall', 'power');
    const mediaOf = hardware.targets(snapshot, 'rinstall', 'media');
    const paceOf = hardware.pacing(snapshot);
    const targets = new Map<string, Target>();
    const failed: NodeResult[] = [];
    for (const [index, node] of (selection.nodes ?? []).entries()) {
      // Others get their turn: awaiting targets that are there already lets nobody else in.
      if (index % nodesPerTurn === nodesPerTurn - 1) await nextTurn();
      try {
        checkNode(reader, node, states);
        if (media) refuseSharedBmc(snapshot, node, (other) => scope.permits({ nodes: [other] }));
        const drive = media ? { media: await mediaOf(node) } : {};
        targets.set(node, { nextBoot: await nextBoot(node), power: await power(node), pace: paceOf(node), ...drive });
      } catch (error) {
        failed.push(failureOf(node, error));
      }
    }
    const nodes = [...targets.keys()];
    const { watches, refused } = isDryRun
      ? { watches: new Map<string, BootWatch>(), refused: await boot.watcher.taken(nodes) }
      : await boot.watcher.claim(nodes, { user: caller.user, run, seconds });
    for (const [node, fault] of refused) {
      targets.delete(node);
      failed.push(nodeFailure(node, fault));
    }
    return { targets, watches, failed, readiness, before: new Map() };
  },
  async release({ watches }, { boot }) {
    for (const watch of watches.values()) boot.watcher.release(watch);
    await boot.watcher.flush();
  },
  *plan(
    draft,
    { state, force },
    { selection },
    { targets, failed, readiness, before },
  ): Interruptible<readonly NodeResult[]> {
    // A node may have been removed meanwhile.
    const nodes = (selection.nodes ?? []).filter((node) => targets.has(node));
    for (const node of nodes) before.set(node, rowsOfState(draft.base, node));
    return [...failed, ...(yield* planBootStates(draft, nodes, statesOf(state), { readiness, force }))];
  },
  async *after(planned, given, scope, { targets, watches, before }): AsyncIterable<readonly NodeResult[]> {
    const { boot, nodeDhcp, snapshot, run, cancelled, again, caller, store } = scope;
    const origin = { user: caller.user, client: caller.client, command: 'rinstall', run };
    const brought = await withReservations(nodeDhcp, snapshot, planned, statesOf(given.state), origin);
    yield* asTheyCome(brought, brought.length, async (result) => {
      if ('error' in result || !('value' in result)) return result;
      const watch = watches.get(result.node)!;
      const { bootstate } = result.value as { readonly bootstate: string };
      const { node } = result;
      const target = targets.get(node)!;
      let begun: StateRows | undefined;
      const steps: Steps = {
        goal: given.media ? goalOnMedium(bootstate) : goalOf(bootstate),
        async *start() {
          const isUntouched = isAsSet(node, snapshot, store.current);
          const medium = target.media && (await offer(boot, target.media, watch, caller.user));
          if (isUntouched) begun = rowsOfState(store.current, node);
          yield* again([node], { shared: {}, target: () => ({ ...target, medium }) });
        },
        spoiled: () => (given.media ? boot.media.end(node) : Promise.resolve()),
        undo: () => undoState({ store, nodeDhcp }, { node, before: before.get(node)!, set: snapshot, begun }, origin),
      };
      try {
        return await boot.watcher.inTurn(cancelled, () => provision(watch, bootstate, steps, given.watch, cancelled));
      } catch (error) {
        return failureOf(result.node, error);
      } finally {
        boot.watcher.release(watch);
      }
    });
  },
  async work(_shared, target: Target, task): Promise<NodeResult<{ readonly power: string }>> {
    const { nextBoot, power, pace, media, medium } = target;
    if (media && medium) return bootFromMedium({ ...target, media, medium }, task);
    await step('it could not be set to boot from the network', () =>
      task.devices.use(nextBoot, 'nextBoot', task, (device) =>
        device.set('net', { persistent: false, mode: undefined }, task.signal),
      ),
    );
    await step('it boots from the network next, but was not powered on', () => rackTurn(pace, task));
    const state = await step('it boots from the network next, but could not be powered on', () =>
      task.devices.use(power, 'power', task, (device) => device.set('boot', task.signal)),
    );
    return { node: task.node, value: { power: state } };
  },
  sentTo({ targets }, node) {
    const { power, pace } = targets.get(node)!;
    return { ...deviceAddress(power), ...(pace ? { pace: paceText(pace) } : {}) };
  },
});

/** The same from a medium. */
async function bootFromMedium(
  { nextBoot, power, pace, media, medium }: Target & Required<Pick<Target, 'media'>> & { medium: OfferedMedium },
  task: Task,
): Promise<NodeResult<{ readonly power: string }>> {
  const { url, own, id } = medium;
  const keep = (drive: string): Promise<void> => task.keep({ kind: 'media', medium: id, drive });
  await step('its boot medium could not be inserted', () =>
    task.devices.use(media!, 'media', task, (device) =>
      device.insert({ url, own, drive: undefined, force: false, keep }, task.signal),
    ),
  );
  await step('it could not be set to boot from its medium', () =>
    task.devices.use(nextBoot, 'nextBoot', task, (device) =>
      device.set('cd', { persistent: false, mode: 'uefi' }, task.signal),
    ),
  );
  await step('it boots from its medium next, but was not powered on', () => rackTurn(pace, task));
  const state = await step('it boots from its medium next, but could not be powered on', () =>
    task.devices.use(power, 'power', task, (device) => device.set('boot', task.signal)),
  );
  return { node: task.node, value: { power: state } };
}

/** Made when the turn of the node has come, so that it is no older than its boot. */
const offer = (
  boot: BootServer,
  { address: bmc }: DeviceTarget,
  { node, seconds }: BootWatch,
  user: string,
): Promise<OfferedMedium> => boot.media.offerBoot({ node, bmc, user }, seconds);

const statesOf = (state: string | undefined): BootStates => parseBootStates(state ?? 'osimage');

interface Steps {
  readonly goal: BootNote['step'];
  start(): AsyncIterable<readonly NodeResult<unknown>[]>;
  /** The machine was not started, so the node must not be left with a state that would surprise whoever starts it later. */
  undo(): Promise<readonly string[]>;
  /** What was inserted is of no use. */
  spoiled(): Promise<void>;
}

async function provision(
  watch: BootWatch,
  state: string,
  { goal, start, undo, spoiled }: Steps,
  waits: boolean,
  cancelled: AbortSignal,
): Promise<NodeResult> {
  const { node } = watch;
  const began = Date.now();
  watch.begin(state, goal);
  try {
    for await (const [result] of start())
      if (result && 'error' in result) {
        await spoiled();
        return { ...result, error: [result.error, ...(await undo())].join(' ') };
      }
  } catch (error) {
    await spoiled();
    if (!(error instanceof Fault)) throw error;
    throw new Fault(error.kind, [...error.sentences, ...(await undo())]);
  }
  watch.poweredOn();
  if (!waits) return { node, value: { provision: 'powered on' } };
  try {
    await watch.end(cancelled);
  } catch (error) {
    // Who cancels leaves the node to its boot, which goes on.
    if (!cancelled.aborted) await spoiled();
    if (!(error instanceof Fault) || !cancelled.aborted) throw error;
    throw new Fault(error.kind, [...error.sentences, `It was powered on and boots: it stays set to ${state}.`]);
  }
  const seconds = String(Math.round((Date.now() - began) / 1_000));
  return { node, value: { provision: goal === 'booted' ? 'booted' : state, seconds } };
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
