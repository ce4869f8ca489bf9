import { Type } from 'typebox';
import { asTheyCome } from '../core/as-they-come.ts';
import { Fault } from '../core/errors.ts';
import { nodeFailure, type NodeResult } from '../core/results.ts';
import { atOnce } from '../core/slices.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { DeviceTarget } from '../drivers/devices.ts';
import type { Hardware } from '../drivers/hardware.ts';
import { effectiveReader } from '../objects/effective.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { type BootWatch, goalOf } from '../services/boot/boot-watcher.ts';
import { checkNode, checkProvisioned, setBootStates } from '../services/boot/set-states.ts';
import { type BootStates, parseBootStates, planBootStates } from '../services/boot/states.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { type FinishScope, perNode, type Plan } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  state: Type.Optional(Type.String({ description: 'what nodes are to boot; without it the image of each' })),
  watch: Type.Boolean({ description: 'waits until they have booted' }),
  seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800, description: 'that a node has to boot' })),
});

interface Target {
  readonly nextBoot: DeviceTarget;
  readonly power: DeviceTarget;
}
type InstallScope = FinishScope<object, Target, { readonly power: string }>;

/**
 * Boot state, next boot from the network, power, and watching until the node has booted. The right to run it is the right to all of
 * them. States are set in one change set; what follows is done on so many nodes at a time as may boot at once.
 */
export const rinstall = perNode<typeof args, object, Target, { readonly power: string }>({
  name: 'rinstall',
  args,
  line: ({ state }) => (state === undefined ? [] : [withoutSecrets(state)]),
  select: selectNodes,
  outlivesClient: () => true,
  prepare(snapshot, { state }, { hardware }) {
    const states = statesOf(state);
    checkProvisioned(states);
    // An image that does not exist is refused before anything begins.
    atOnce(planBootStates(new Draft(snapshot), [], states));
    return devicePlan(snapshot, hardware);
  },
  async work(_shared, { nextBoot, power }, task) {
    await step('it could not be told to boot from the network', () =>
      task.devices.use(nextBoot, 'nextBoot', task, (device) =>
        device.set('net', { persistent: false, mode: undefined }, task.signal),
      ),
    );
    const state = await step('it boots from the network next, but could not be powered on', () =>
      task.devices.use(power, 'power', task, (device) => device.set('boot', task.signal)),
    );
    return { node: task.node, value: { power: state } };
  },
  async *finish(_results, given, scope): AsyncIterable<readonly NodeResult[]> {
    const { selection, boot, caller, snapshot } = scope;
    const states = statesOf(given.state);
    const plan = devicePlan(snapshot, scope.hardware);
    const claimed = new Map<string, BootWatch>();
    try {
      const reader = effectiveReader(snapshot);
      for (const node of selection.nodes ?? []) {
        try {
          checkNode(reader, node, states);
          await plan.target(node);
          claimed.set(node, boot.watcher.claim(node, caller.user, given.seconds));
        } catch (error) {
          yield [failureOf(node, error)];
        }
      }
      const origin = { user: caller.user, client: caller.client, command: 'rinstall', run: scope.run };
      const brought = await setBootStates(scope, origin, [...claimed.keys()], states);
      yield* asTheyCome(brought, brought.length, async (result) => {
        if ('error' in result || !('value' in result)) return result;
        const watch = claimed.get(result.node)!;
        const { bootstate } = result.value as { readonly bootstate: string };
        try {
          return await boot.watcher.inTurn(scope.cancelled, () =>
            provision(watch, bootstate, plan, given.watch, scope),
          );
        } catch (error) {
          return failureOf(result.node, error);
        } finally {
          boot.watcher.release(watch);
        }
      });
    } finally {
      for (const watch of claimed.values()) boot.watcher.release(watch);
      await boot.watcher.flush();
    }
  },
});

function devicePlan(snapshot: Snapshot, hardware: Hardware): Plan<object, Target> {
  const nextBoot = hardware.targets(snapshot, 'rinstall', 'nextBoot');
  const power = hardware.targets(snapshot, 'rinstall', 'power');
  return { shared: {}, target: async (node) => ({ nextBoot: await nextBoot(node), power: await power(node) }) };
}

const statesOf = (state: string | undefined): BootStates => parseBootStates(state ?? 'osimage');

async function provision(
  watch: BootWatch,
  state: string,
  plan: Plan<object, Target>,
  waits: boolean,
  { again, cancelled }: InstallScope,
): Promise<NodeResult> {
  const { node } = watch;
  const began = Date.now();
  watch.begin(state);
  for await (const [result] of again([node], plan)) if (result && !('value' in result)) return result;
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
