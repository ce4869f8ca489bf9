import { Fault, Unreachable } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { resourcesAt } from '../../protocols/redfish/collection.ts';
import { linkAt, linksAt, textAt } from '../../protocols/redfish/json.ts';
import { companionsOf, systemsOf } from '../../protocols/redfish/node-resources.ts';
import type { ChassisAction, ChassisMember, ChassisPower, ChassisSeen, ChassisState } from '../capabilities.ts';
import { powerStateIn } from './power.ts';
import { type Action, actionOf, chassisFor, notOffered, systemIfAny, type Target, until } from './target.ts';

/** Resource.ResetType of the DMTF schemas: what does an action to a chassis, best first. */
const resetTypes: Readonly<Record<ChassisAction, readonly string[]>> = {
  on: ['On', 'ForceOn'],
  off: ['ForceOff', 'GracefulShutdown'],
  reset: ['PowerCycle', 'FullPowerCycle', 'ForceRestart'],
};

/** More levels, or members, than any enclosure has. */
const mostLevels = 8;
const mostMembers = 300;
const unknown = 'unknown';

interface Switch {
  readonly chassis: Resource;
  readonly reset: Action;
}

/** The chassis, slot or sled that a node is in. */
export function redfishChassisPower(target: Target): ChassisPower {
  return {
    async state(signal) {
      const { chassis } = await switchOf(target, signal);
      return stateOf(chassis);
    },
    set: (action, before, signal) => set(target, action, before, signal),
  };
}

const stateOf = (chassis: Resource): ChassisState => ({ id: idOf(chassis), power: powerStateIn(chassis) ?? unknown });
const idOf = ({ body, path }: Resource): string => textAt(body, 'Id') ?? path.split('/').at(-1) ?? path;

/** The innermost chassis around the node that can be switched: its own slot or sled before the enclosure. */
async function switchOf(target: Target, signal: AbortSignal): Promise<Switch> {
  const { service } = target;
  const system = await systemIfAny(target, signal);
  const all = await chassisFor(target, signal);
  const holds = ({ body, path }: Resource): boolean =>
    system === undefined ||
    linksAt(body, 'Links', 'ComputerSystems').includes(system.path) ||
    linksAt(system.body, 'Links', 'Chassis').includes(path);
  const holders = all.filter(holds);
  // The innermost contains none of the others.
  const inside = (one: Resource): boolean =>
    !holders.some(({ path }) => linksAt(one.body, 'Links', 'Contains').includes(path));
  let level = [...holders.filter(inside), ...holders.filter((one) => !inside(one))];
  const seen = new Set<string>();
  for (let depth = 0; level.length > 0 && depth < mostLevels; depth++) {
    for (const chassis of level) {
      const reset = await actionOf(service, chassis, 'Chassis.Reset', 'ResetType', signal);
      if (reset) return { chassis, reset };
      seen.add(chassis.path);
    }
    const around = level.flatMap(({ body }) => linkAt(body, 'Links', 'ContainedBy') ?? []);
    level = [
      ...(await resourcesAt(
        service,
        [...new Set(around)].filter((path) => !seen.has(path)),
        signal,
      )),
    ];
  }
  throw new Fault('invalid', 'its BMC can switch no chassis, slot or sled.');
}

/** The machines in it besides the node itself, and sleds that no system says anything of. */
async function othersIn(target: Target, chassis: Resource, signal: AbortSignal): Promise<readonly ChassisMember[]> {
  const { service } = target;
  const system = await systemIfAny(target, signal);
  const systems = await systemsOf(service, signal);
  const own = new Set(system ? [system, ...companionsOf(systems, system)].map(({ path }) => path) : []);
  const found = new Map([[chassis.path, chassis]]);
  for (let level: readonly Resource[] = [chassis]; level.length > 0 && found.size < mostMembers; ) {
    const paths = new Set(level.flatMap(({ body }) => linksAt(body, 'Links', 'Contains')));
    level = await resourcesAt(
      service,
      [...paths].filter((path) => !found.has(path)).slice(0, mostMembers - found.size),
      signal,
    );
    for (const each of level) found.set(each.path, each);
  }
  const inside = [...found.values()];
  const linked = new Set(inside.flatMap(({ body }) => linksAt(body, 'Links', 'ComputerSystems')));
  // Some services say where a system is, and not what is in a chassis.
  for (const { path, body } of systems)
    if (linksAt(body, 'Links', 'Chassis').some((each) => found.has(each))) linked.add(path);
  const byPath = new Map(systems.map((each) => [each.path, each]));
  const unread = [...linked].filter((path) => !byPath.has(path));
  for (const each of await resourcesAt(service, unread, signal)) byPath.set(each.path, each);
  const machines = [...linked].filter((path) => !own.has(path)).flatMap((path) => byPath.get(path) ?? []);
  const bare = inside.filter(
    ({ path, body }) =>
      path !== chassis.path &&
      /^(Sled|Blade|Node)$/.test(textAt(body, 'ChassisType') ?? '') &&
      textAt(body, 'Status', 'State') !== 'Absent' &&
      linksAt(body, 'Links', 'ComputerSystems').length === 0,
  );
  return [...machines, ...bare].map(memberOf);
}

const memberOf = (resource: Resource): ChassisMember => ({
  id: idOf(resource),
  names: ['Id', 'SerialNumber', 'UUID', 'HostName', 'AssetTag'].flatMap((name) => textAt(resource.body, name) ?? []),
});

async function set(
  target: Target,
  action: ChassisAction,
  before: ChassisSeen,
  signal: AbortSignal,
): Promise<ChassisState> {
  const { chassis, reset } = await switchOf(target, signal);
  const wanted = resetTypes[action];
  const type = reset.allowed ? wanted.find((each) => reset.allowed!.includes(each)) : wanted[0];
  if (type === undefined) throw notOffered(`chassis action ${action}`, reset.allowed ?? []);
  const now = stateOf(chassis);
  await before({ ...now, others: await othersIn(target, chassis, signal) });
  if (now.power === action) return now;
  let lost: Unreachable | undefined;
  try {
    await target.service.order(reset.target, { ResetType: type }, signal);
  } catch (error) {
    // It may have been carried out: the BMC is in the chassis too.
    if (!(error instanceof Unreachable) || signal.aborted) throw error;
    lost = error;
  }
  // What is not reported cannot be waited for.
  if (now.power === unknown && lost) throw lost;
  if (now.power === unknown) return now;
  return reach(target, chassis, action === 'off' ? 'off' : 'on', lost, signal);
}

/** A BMC without power answers nothing for a while. */
async function reach(
  target: Target,
  chassis: Resource,
  goal: string,
  lost: Unreachable | undefined,
  signal: AbortSignal,
): Promise<ChassisState> {
  return until(
    async () => {
      try {
        return stateOf(await target.service.get(chassis.path, signal));
      } catch (error) {
        if (!(error instanceof Unreachable) || signal.aborted) throw error;
        lost ??= error;
        return { id: idOf(chassis), power: unknown };
      }
    },
    ({ power }) => power === goal,
    ({ id, power }) => {
      const seconds = target.powerTimeout / 1_000;
      if (power === unknown && lost)
        return new Fault(lost.kind, [...lost.sentences, 'The order to its chassis may have been carried out: look.']);
      return new Fault('deadline', `chassis ${id} is ${power} instead of ${goal} after ${seconds} s.`);
    },
    target.powerTimeout,
    signal,
  );
}
