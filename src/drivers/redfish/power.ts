import { Fault, Unreachable } from '../../core/errors.ts';
import { Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { textAt } from '../../protocols/redfish/json.ts';
import type { Power, PowerAction, PowerSeen } from '../capabilities.ts';
import { type Action, actionOf, chassisFor, notOffered, systemIfAny, type Target, until } from './target.ts';

/** Resource.PowerState of the DMTF schemas. */
const states: Readonly<Record<string, string>> = {
  On: 'on',
  Off: 'off',
  PoweringOn: 'powering-on',
  PoweringOff: 'powering-off',
  Paused: 'paused',
};

export function powerStateIn(resource: Resource): string | undefined {
  const word = textAt(resource.body, 'PowerState');
  return word === undefined ? undefined : (states[word] ?? word.toLowerCase());
}

interface Powered {
  readonly resource: Resource;
  readonly state: string;
}

/** What is switched, with its power state if that is reported. */
export type PowerReader = (
  target: Target,
  signal: AbortSignal,
) => Promise<{ readonly resource: Resource; readonly state: string | undefined }>;

/** The chassis has power, but the system in it does not run: OpenBMC distinguishes the two. */
export const chassisOnly = 'on (Chassis)';

/** The system with its power state, or that of its chassis; where there is no system, the enclosure. */
export const powered: PowerReader = async (target, signal) => {
  const system = await systemIfAny(target, signal);
  const own = system && powerStateIn(system);
  if (system && own !== undefined) return { resource: system, state: own };
  const all = await chassisFor(target, signal);
  const chassis = all.find((one) => powerStateIn(one) !== undefined);
  const resource = system ?? chassis ?? all[0];
  if (!resource) throw unknownPowerState();
  return { resource, state: chassis && powerStateIn(chassis) };
};

export const unknownPowerState = (): Fault => new Fault('invalid', 'its BMC does not report the power state.');

/** Resource.ResetType of the DMTF schemas: what does an action, best first. */
const resetTypes: Readonly<Record<Exclude<PowerAction, 'boot'>, readonly string[]>> = {
  on: ['On', 'ForceOn'],
  off: ['ForceOff'],
  softoff: ['GracefulShutdown', 'PushPowerButton'],
  reset: ['ForceRestart', 'PowerCycle'],
  cycle: ['PowerCycle'],
  nmi: ['Nmi'],
  wake: ['Resume'],
  suspend: ['Suspend', 'Pause'],
};

/** After an order to cycle, a service may go on saying `on` for a moment, and may never be seen off. */
const cycleSettles = 3_000;

/** A node whose power is read by a reader of its kind. */
interface Machine extends Target {
  readonly read: (signal: AbortSignal) => Promise<Powered>;
}

/** For the state after an order that got no answer. */
const silenceTimeout = 3_000;

export function redfishPower(target: Target, read: PowerReader = powered): Power {
  const machine: Machine = {
    ...target,
    async read(signal) {
      const { resource, state } = await read(target, signal);
      if (state === undefined) throw unknownPowerState();
      return { resource, state };
    },
  };
  return {
    state: (signal) => powerState(machine, signal),
    set: (action, signal, from) => setPower(machine, action, signal, from),
  };
}

function powerState({ read }: Machine, signal: AbortSignal): Promise<string> {
  return read(signal).then(({ state }) => state);
}

async function setPower(target: Machine, action: PowerAction, signal: AbortSignal, from?: PowerSeen): Promise<string> {
  const { resource, state } = await settled(target, action, signal);
  await from?.(state);
  const reset = await resetOf(target, resource, signal);
  if (!reset) throw new Fault('invalid', 'its BMC cannot change the power state.');
  const stopped = state === 'off' || state === chassisOnly;
  const wanted = action === 'boot' ? (stopped ? 'on' : 'reset') : action;
  // Known before anything is done, and even if nothing has to be done.
  const types = typesFor(wanted, reset);
  const wait = (goal: string): Promise<string> => reach(target, goal, signal);
  const send = (type: string, goal: string | undefined): Promise<string> => order(target, reset, type, goal, signal);
  switch (wanted) {
    case 'on':
      return state === 'on' ? state : send(types[0]!, 'on');
    case 'off':
    case 'softoff':
      return state === 'off' ? state : send(types[0]!, 'off');
    case 'reset':
      if (stopped) return state;
      await send(types[0]!, undefined);
      return types[0] === 'PowerCycle' ? cycled(target, signal) : wait('on');
    case 'cycle':
      return stopped ? state : cycle(target, reset, types, signal);
    case 'nmi':
      if (stopped) throw new Fault('invalid', `it is ${state}, and nmi needs a system that runs.`);
      return send(types[0]!, undefined);
    case 'wake':
      return state === 'on' ? state : send(types[0]!, 'on');
    case 'suspend':
      return send(types[0]!, undefined);
  }
}

async function resetOf({ service }: Machine, resource: Resource, signal: AbortSignal): Promise<Action | undefined> {
  const system = await actionOf(service, resource, 'ComputerSystem.Reset', 'ResetType', signal);
  return system ?? actionOf(service, resource, 'Chassis.Reset', 'ResetType', signal);
}

/** What to send, one after the other. */
function typesFor(action: Exclude<PowerAction, 'boot'>, reset: Action): readonly string[] {
  const type = resetTypeFor(action, reset);
  if (type !== undefined) return [type];
  const [off, on] = [resetTypeFor('off', reset), resetTypeFor('on', reset)];
  if (action === 'cycle' && off !== undefined && on !== undefined) return [off, on];
  throw notOffered(`power action ${action}`, offeredActions(reset.allowed ?? []));
}

function resetTypeFor(action: Exclude<PowerAction, 'boot'>, { allowed }: Action): string | undefined {
  const wanted = resetTypes[action];
  return allowed ? wanted.find((type) => allowed.includes(type)) : wanted[0];
}

function offeredActions(allowed: readonly string[]): readonly string[] {
  const has = (action: keyof typeof resetTypes): boolean => resetTypes[action].some((type) => allowed.includes(type));
  const actions = (Object.keys(resetTypes) as (keyof typeof resetTypes)[]).filter(
    (action) => has(action) || (action === 'cycle' && has('on') && has('off')),
  );
  return has('on') && has('reset') ? [...actions, 'boot'] : actions;
}

/** The state to start from. One that is changing already is waited for, unless the action is to cut that short. */
async function settled(target: Machine, action: PowerAction, signal: AbortSignal): Promise<Powered> {
  const now = await target.read(signal);
  const waits = now.state === 'powering-on' ? action !== 'off' : now.state === 'powering-off' && action !== 'off';
  if (!waits) return now;
  return until(
    () => target.read(signal),
    ({ state }) => state !== 'powering-on' && state !== 'powering-off',
    ({ state }) => late(target, `it is still ${state}`),
    target.powerTimeout,
    signal,
  );
}

/** Sends an order once. After no answer or a refusal the state is read: it may be reached already. */
async function order(
  target: Machine,
  reset: Action,
  type: string,
  goal: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  try {
    await target.service.order(reset.target, { ResetType: type }, signal);
  } catch (error) {
    const lost = error instanceof Unreachable || (error instanceof Fault && error.kind === 'unavailable');
    const refused = error instanceof Refusal;
    if (signal.aborted || !(lost || refused)) throw error;
    const state = refused ? await powerState(target, signal) : await stateAfterLoss(target, error, signal);
    if (goal === state) return state;
    if (refused || goal === undefined) throw error;
  }
  return goal === undefined ? powerState(target, signal) : reach(target, goal, signal);
}

/** A service that is still silent has cost a timeout already, and does not get another. */
async function stateAfterLoss(target: Machine, lost: Fault, signal: AbortSignal): Promise<string> {
  try {
    return await powerState(target, AbortSignal.any([signal, AbortSignal.timeout(silenceTimeout)]));
  } catch {
    throw lost;
  }
}

function reach(target: Machine, goal: string, signal: AbortSignal): Promise<string> {
  return until(
    () => powerState(target, signal),
    (state) => state === goal,
    (state) => late(target, `its BMC accepted the command, but it is ${state} instead of ${goal}`),
    target.powerTimeout,
    signal,
  );
}

/** A service that does not say what it takes may refuse to cycle; like one that cannot, it is switched off and on. */
async function cycle(target: Machine, reset: Action, types: readonly string[], signal: AbortSignal): Promise<string> {
  if (types.length === 1) {
    try {
      await order(target, reset, types[0]!, undefined, signal);
      return await cycled(target, signal);
    } catch (error) {
      if (reset.allowed || !(error instanceof Refusal && error.ofRequest)) throw error;
    }
  }
  await order(target, reset, resetTypeFor('off', reset)!, 'off', signal);
  return order(target, reset, resetTypeFor('on', reset)!, 'on', signal);
}

async function cycled(target: Machine, signal: AbortSignal): Promise<string> {
  const end = performance.now() + cycleSettles;
  await until(
    () => powerState(target, signal),
    (state) => state !== 'on' || performance.now() >= end,
    (state) => late(target, `it is ${state}`),
    target.powerTimeout,
    signal,
  );
  return reach(target, 'on', signal);
}

function late({ powerTimeout }: Machine, what: string): Fault {
  return new Fault('deadline', `${what} after ${powerTimeout / 1_000} s.`);
}
