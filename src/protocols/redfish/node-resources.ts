import { Fault } from '../../core/errors.ts';
import { memberResources, resourcesAt } from './collection.ts';
import { at, linkAt, linksAt, textAt } from './json.ts';
import type { RedfishService, Resource } from './service.ts';

/** Which computer system is meant: that of the node, by its name or by what its attribute bmcsystem says. */
export interface Wanted {
  readonly node: string;
  /** The Id, SerialNumber or UUID of the system. */
  readonly system?: string | undefined;
}

/** Where a node's resources lie; found once by following links from the root. */
interface Paths {
  /** What they were found for. */
  readonly wanted: string | undefined;
  system?: string;
  chassis?: readonly string[];
  manager?: string | undefined;
}

const cache = new WeakMap<RedfishService, Paths>();

function pathsOf(service: RedfishService, { system: wanted }: Wanted): Paths {
  let paths = cache.get(service);
  if (paths?.wanted !== wanted || !paths) cache.set(service, (paths = { wanted }));
  return paths;
}

/** The computer system a node is, as it is now; none if the service has none at all, as those of enclosures. */
export async function findSystem(
  service: RedfishService,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const paths = pathsOf(service, wanted);
  if (paths.system !== undefined) {
    const system = await service.find(paths.system, signal);
    if (system) return system;
    // Services rename their resources when their firmware changes.
    cache.delete(service);
  }
  const systems = await systemsOf(service, signal);
  if (systems.length === 0) return undefined;
  const system = pickSystem(systems, wanted);
  if (!system) throw ambiguous(systems, wanted);
  pathsOf(service, wanted).system = system.path;
  return system;
}

export async function systemOf(service: RedfishService, wanted: Wanted, signal: AbortSignal): Promise<Resource> {
  const system = await findSystem(service, wanted, signal);
  if (!system) throw new Fault('invalid', 'its Redfish service has no computer system.');
  return system;
}

export async function systemsOf(service: RedfishService, signal: AbortSignal): Promise<readonly Resource[]> {
  const root = await service.root(signal);
  return memberResources(service, linkAt(root.body, 'Systems'), signal);
}

/**
 * A service with several systems needs a rule: the one that bmcsystem says, and no other; without it the only one; else the one whose Id, Name, HostName, AssetTag or SerialNumber
 * is the node's name; else the only physical one that can be reset. If that leaves more than one, none is picked: the wrong
 * machine would be switched off.
 */
export function pickSystem(systems: readonly Resource[], { node, system }: Wanted): Resource | undefined {
  if (system !== undefined) return onlyOne(calledBy(systems, system, ['Id', 'SerialNumber', 'UUID']));
  if (systems.length < 2) return systems[0];
  const named = onlyOne(calledBy(systems, node, ['Id', 'Name', 'HostName', 'AssetTag', 'SerialNumber']));
  if (named) return named;
  const real = systems.filter(
    ({ body }) =>
      (textAt(body, 'SystemType') ?? 'Physical') === 'Physical' &&
      at(body, 'Actions', '#ComputerSystem.Reset') !== undefined,
  );
  return onlyOne(real);
}

function calledBy(systems: readonly Resource[], value: string, members: readonly string[]): readonly Resource[] {
  const wanted = value.toLowerCase();
  return systems.filter(({ body }) => members.some((name) => textAt(body, name)?.toLowerCase() === wanted));
}

const onlyOne = (found: readonly Resource[]): Resource | undefined => (found.length === 1 ? found[0] : undefined);

function ambiguous(systems: readonly Resource[], { node, system }: Wanted): Fault {
  const listed = systems.slice(0, 20).map(({ path, body }) => textAt(body, 'Id') ?? path);
  const reason =
    system === undefined
      ? `muster cannot know which of them is this node; set its attribute bmcsystem, or give the one that is meant the AssetTag "${node}".`
      : `its attribute bmcsystem, "${system}", is not the Id, serial number or UUID of exactly one of them.`;
  return new Fault(
    'invalid',
    `its Redfish service has ${systems.length} computer systems (${listed.join(', ')}) and ${reason}`,
  );
}

/**
 * The chassis its system names, else those that name the system, with all that these contain but what other systems are in. Where
 * nothing says so: all of them if there is one system, of several none. Without a system, the outermost.
 */
export async function chassisOf(
  service: RedfishService,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const { chassis: before } = pathsOf(service, wanted);
  if (before) return resourcesAt(service, before, signal);
  const systems = await systemsOf(service, signal);
  const system = await findSystem(service, wanted, signal);
  const named = linksAt(system?.body, 'Links', 'Chassis');
  const root = await service.root(signal);
  const all =
    named.length > 0
      ? await resourcesAt(service, named, signal)
      : await memberResources(service, linkAt(root.body, 'Chassis'), signal);
  const holders = named.length > 0 || !system ? all : holding(all, system);
  const unknown = systems.length > 1 ? [] : all;
  const chassis = !system
    ? outermost(all)
    : holders.length > 0
      ? await contained(service, holders, system, signal)
      : unknown;
  pathsOf(service, wanted).chassis = chassis.map(({ path }) => path);
  return chassis;
}

const holding = (all: readonly Resource[], system: Resource): readonly Resource[] =>
  all.filter(({ body }) => linksAt(body, 'Links', 'ComputerSystems').includes(system.path));

/** More chassis than any machine has. */
const mostChassis = 200;

/** They and what is inside them: machines with many accelerators have a chassis for each. */
async function contained(
  service: RedfishService,
  holders: readonly Resource[],
  system: Resource,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const isOthers = ({ body }: Resource): boolean => {
    const inside = linksAt(body, 'Links', 'ComputerSystems');
    return inside.length > 0 && !inside.includes(system.path);
  };
  const found = new Map(holders.map((chassis) => [chassis.path, chassis]));
  for (let level = holders; level.length > 0 && found.size < mostChassis; ) {
    const paths = new Set(level.flatMap(({ body }) => linksAt(body, 'Links', 'Contains')));
    const fresh = [...paths].filter((path) => !found.has(path)).slice(0, mostChassis - found.size);
    level = (await resourcesAt(service, fresh, signal)).filter((chassis) => !isOthers(chassis));
    for (const chassis of level) found.set(chassis.path, chassis);
  }
  return [...found.values()];
}

function outermost(all: readonly Resource[]): readonly Resource[] {
  const inside = new Set(all.flatMap(({ body }) => linksAt(body, 'Links', 'Contains')));
  return all.filter(({ path, body }) => !inside.has(path) && linkAt(body, 'Links', 'ContainedBy') === undefined);
}

/** The manager of a node: the first its system names, else the first that is a BMC, else the first. */
export async function managerOf(
  service: RedfishService,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const paths = pathsOf(service, wanted);
  if ('manager' in paths) return service.find(paths.manager, signal);
  const [named] = linksAt(pickSystem(await systemsOf(service, signal), wanted)?.body, 'Links', 'ManagedBy');
  if (named !== undefined) {
    pathsOf(service, wanted).manager = named;
    return service.find(named, signal);
  }
  const root = await service.root(signal);
  const managers = await memberResources(service, linkAt(root.body, 'Managers'), signal);
  const manager = managers.find(({ body }) => textAt(body, 'ManagerType') === 'BMC') ?? managers[0];
  pathsOf(service, wanted).manager = manager?.path;
  return manager;
}

/** A resource the root links to, e.g. `AccountService`. */
export async function rootMember(
  service: RedfishService,
  name: string,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  return service.find(linkAt((await service.root(signal)).body, name), signal);
}
