import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { NodeResult, NodeValue } from '../core/results.ts';
import {
  type ChassisAction,
  type DeviceTarget,
  isOutletTarget,
  type Neighbours,
  neighboursOf,
  type OutletAction,
  type OutletTarget,
  outletTargets,
  paceText,
  type Power,
  type PowerAction,
  type PowerSeen,
  type RackPace,
  refuseChosen,
  refuseNeighbours,
  refuseShared,
  refuseSharedBmc,
  shownOutlets,
  workOnOutlets,
} from '../drivers/index.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { type Arguments, nodeArguments, selectNodes } from './command.ts';
import {
  checkWord,
  deviceAddress,
  hardwareOnWorkers,
  type OnWorkers,
  perNode,
  type Plan,
  rackTurn,
  type Task,
  useDevice,
} from './per-node.ts';

const actions: readonly PowerAction[] = ['on', 'off', 'softoff', 'reset', 'boot', 'cycle', 'nmi', 'wake', 'suspend'];
const readings: readonly string[] = ['stat', 'state', 'status', 'bmcstate', 'chassisstat'];
/** For the BMC itself. */
const restart = 'bmcreboot';
const controllerWords: readonly string[] = [restart, 'bmcstate'];
/** Of the chassis, slot or sled that a node is in. */
const chassisWords: Readonly<Record<string, ChassisAction | 'stat'>> = {
  chassison: 'on',
  chassisoff: 'off',
  chassisreset: 'reset',
  chassisstat: 'stat',
};
const words: readonly string[] = [
  ...actions,
  ...readings.filter((word) => word !== 'chassisstat'),
  restart,
  'pduon',
  'pduoff',
  'pdustat',
  'pdureset',
  ...Object.keys(chassisWords),
];

/** What a node is doing once the action was carried out. */
const statusAfter: Readonly<Partial<Record<PowerAction, string>>> = {
  on: 'powering-on',
  boot: 'powering-on',
  reset: 'powering-on',
  cycle: 'powering-on',
  off: 'powering-off',
  softoff: 'powering-off',
};

/** Results are kept for a day; nodes in a usual state share what says so. */
const usualValues = new Map(['on', 'off'].map((power) => [power, { power }]));

/** Of the outlets that feed a node. */
const outletWords: Readonly<Record<string, OutletAction>> = {
  pduon: 'on',
  pduoff: 'off',
  pdureset: 'reset',
  pdustat: 'stat',
};
/** Of a node that is a PDU the plain words mean its own outlets. */
const pduWords: Readonly<Record<string, OutletAction>> = {
  ...outletWords,
  on: 'on',
  off: 'off',
  reset: 'reset',
  stat: 'stat',
  state: 'stat',
  status: 'stat',
};

const reads = ({ action }: { readonly action: string }): boolean => readings.includes(action) || action === 'pdustat';
/** Actions that may make a machine draw power that draws none, or restart it; with the state before in which they do not. */
const idleState: Readonly<Partial<Record<string, string>>> = { on: 'on', boot: 'none', reset: 'off', cycle: 'off' };

/** The same of what feeds machines, or holds them. */
const startsPower: ReadonlySet<string> = new Set(['pduon', 'pdureset', 'chassison', 'chassisreset']);

const rpowerArguments = Type.Object({
  ...nodeArguments,
  action: Type.String(),
  outlets: Type.Optional(Type.Array(Type.String(), { description: 'of PDUs: these outlets only' })),
  force: Type.Optional(
    Type.Boolean({ description: 'also outlets that feed other nodes, and chassis with other nodes in them' }),
  ),
});

type PowerArguments = Arguments<typeof rpowerArguments>;

/** By its own hardware. */
interface MachineTarget {
  readonly device: DeviceTarget;
  readonly pace?: RackPace | undefined;
  /** What else may be in its chassis, where that is switched. */
  readonly neighbours?: Neighbours | undefined;
}

type PowerTarget = MachineTarget | OutletTarget;

export const rpower = perNode({
  name: 'rpower',
  args: rpowerArguments,
  uses: ['hardware'],
  select(snapshot, given, ranges) {
    const { action, outlets, force } = given;
    checkWord(action, words, 'power action');
    if (outlets !== undefined && pduWords[action] === undefined)
      throw new Fault('invalid', `${action} is for no outlets; give ${Object.keys(pduWords).join(', ')}.`);
    if (force && (pduWords[action] ?? chassisWords[action] ?? 'stat') === 'stat')
      throw new Fault('invalid', `force is for outlets and chassis that are switched, not for ${action}.`);
    return selectNodes(snapshot, given, ranges);
  },
  prepare(snapshot, given, scope): Plan<PowerArguments, PowerTarget> {
    const { action, outlets, force = false } = given;
    const { hardware } = scope;
    const nodes = scope.selection.nodes ?? [];
    const permits = (node: string): boolean => scope.permits({ nodes: [node] });
    const powerOf = hardware.targets(snapshot, 'rpower', 'power');
    const outletsOf = outletTargets(snapshot, 'rpower', hardware, outlets);
    const isPdu = hardware.offering(snapshot, 'outlets');
    const paceOf = hardware.pacing(snapshot);
    const paced = (node: string): Pick<MachineTarget, 'pace'> => {
      const pace = idleState[action] !== undefined || startsPower.has(action) ? paceOf(node) : undefined;
      return pace ? { pace } : {};
    };
    const byOutlets = async (node: string, word: OutletAction): Promise<OutletTarget> => {
      const target = await outletsOf(node);
      const restarts = word === 'reset';
      if (word !== 'stat') refuseShared(target, node, { snapshot, nodes, permits, force, restarts });
      return isPdu(node) ? target : { ...target, ...paced(node) };
    };
    const ofChassis = async (node: string): Promise<MachineTarget> => {
      const hasFullRights = scope.caller.hasFullRights();
      const neighbours = neighboursOf(snapshot, node, { permits, hasFullRights, force, nodes });
      return { device: { ...(await powerOf(node)), staysHere: true }, neighbours, ...paced(node) };
    };
    return {
      shared: given,
      target(node) {
        const word = isPdu(node) ? pduWords[action] : outletWords[action];
        if (word !== undefined) return byOutlets(node, word);
        if (isPdu(node))
          throw new Fault(
            'invalid',
            `${action} is not possible with a PDU; it has ${Object.keys(pduWords).join(', ')}.`,
          );
        refuseChosen(outlets);
        if (chassisWords[action] !== undefined) return ofChassis(node);
        if (force) throw new Fault('invalid', 'force is for outlets of PDUs, and for chassis.');
        if (action === restart) refuseSharedBmc(snapshot, node, permits);
        const device = powerOf(node);
        if (device instanceof Promise) return device.then((one) => ({ device: one, ...paced(node) }));
        return { device, ...paced(node) };
      },
    };
  },
  sentTo: (target: PowerTarget) => ({
    ...(isOutletTarget(target) ? shownOutlets(target) : deviceAddress(target.device)),
    ...(target.pace ? { pace: paceText(target.pace) } : {}),
  }),
  async work(given: PowerArguments, target: PowerTarget, task): Promise<NodeResult> {
    const { action } = given;
    if (isOutletTarget(target)) {
      await rackTurn(target.pace, task);
      return { node: task.node, value: await workOnOutlets(target, pduWords[action]!, task) };
    }
    const chassis = chassisWords[action];
    if (chassis !== undefined) return { node: task.node, value: await workOnChassis(target, chassis, task) };
    await rackTurnIfStarted(target, action, task);
    const asking = task.goAhead ? { ...task, goAhead: undefined } : task;
    return useDevice(target.device, 'power', asking, (power) => switchPower(power, action, task), reads(given));
  },
  onWorkers: {
    ...hardwareOnWorkers(['power', 'status'], (node) => `Look with GET /nodes/${node}/power before you send it again.`),
    // A PDU feeds nodes of several service nodes.
    takes: (target: PowerTarget) => !isOutletTarget(target) && target.device.staysHere !== true,
    mayReport: (effect, { action }) => effect.kind !== 'status' || effect.status === statusAfter[action as PowerAction],
  } satisfies OnWorkers<PowerTarget, PowerArguments>,
  line: ({ action, outlets, force }) => [
    withoutSecrets(action),
    ...(outlets ? [`relay=${withoutSecrets(outlets.join(','))}`] : []),
    ...(force ? ['-f'] : []),
  ],
  outlivesClient: (given) => !reads(given),
});

async function workOnChassis(
  { device, pace, neighbours }: MachineTarget,
  action: ChassisAction | 'stat',
  task: Task,
): Promise<NodeValue> {
  const { signal } = task;
  const lacks = (): Fault => new Fault('invalid', 'its kind of hardware knows of no chassis that could be switched.');
  if (action === 'stat') {
    const { id, power } = await task.devices.read(device, 'power', task, ({ chassis }) => {
      if (!chassis) throw lacks();
      return chassis.state(signal);
    });
    return { power, chassis: id };
  }
  if (action !== 'off') await rackTurn(pace, task);
  const { id, power } = await task.devices.use(device, 'power', task, ({ chassis }) => {
    if (!chassis) throw lacks();
    return chassis.set(action, (contents) => refuseNeighbours(contents, neighbours!, action === 'reset'), signal);
  });
  if (action !== 'on') task.report({ kind: 'status', status: action === 'off' ? 'powering-off' : 'powering-on' });
  return { power, chassis: id };
}

async function switchPower(power: Power, action: string, task: Task): Promise<NodeValue> {
  let before: string | undefined;
  const state = await carryOut(power, action, task, (seen) => {
    before = seen;
    return task.goAhead?.();
  });
  if (!controllerWords.includes(action)) task.report({ kind: 'power', power: state });
  const status = statusAfter[action as PowerAction];
  // A reset of a node that is off did nothing, nor did what was there already.
  const idle =
    (status === 'powering-on' && state === 'off') ||
    (before === state && (action === 'on' || status === 'powering-off'));
  if (status && !idle) task.report({ kind: 'status', status });
  // What these did, the state at the end does not show.
  if (before !== undefined && (action === 'boot' || action === 'softoff')) return { power: state, before };
  return usualValues.get(state) ?? { power: state };
}

/** One that is on already, or stays off, draws no more power than before: it waits for nobody. */
async function rackTurnIfStarted({ device, pace }: MachineTarget, action: string, task: Task): Promise<void> {
  const idle = idleState[action];
  if (!pace || idle === undefined) return;
  if (idle !== 'none') {
    const reading = { ...task, goAhead: undefined };
    const state = await task.devices.read(device, 'power', reading, (power) => power.state(task.signal));
    if (state === idle) return;
  }
  await rackTurn(pace, task);
}

async function carryOut(
  power: Power,
  action: string,
  { signal, goAhead }: Pick<Task, 'signal' | 'goAhead'>,
  from: PowerSeen,
): Promise<string> {
  if (controllerWords.includes(action)) {
    const { controller } = power;
    if (!controller) throw new Fault('invalid', `${action} is not possible with its kind of hardware.`);
    if (action !== restart) return controller.state(signal);
    await goAhead?.();
    return controller.restart(signal);
  }
  return readings.includes(action) ? power.state(signal) : power.set(action as PowerAction, signal, from);
}
