import { Fault } from '../../core/errors.ts';
import { memberResources, resourcesAt } from './collection.ts';
import { at, linkAt, linksAt, textAt } from './json.ts';
import type { RedfishService, Resource } from './service.ts';

/** Where a node's resources lie; found once by following links from the root. */
interface Paths {
  system?: string;
  chassis?: readonly string[];
  manager?: string | undefined;
}

const cache = new WeakMap<RedfishService, Paths>();

function pathsOf(service: RedfishService): Paths {
  let paths = cache.get(service);
  if (!paths) cache.set(service, (paths = {}));
  return paths;
}

/** The computer system a node is, as it is now; none if the service has none at all, as those of enclosures. */
export async function findSystem(
  service: RedfishService,
  node: string,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const paths = pathsOf(service);
  if (paths.system !== undefined) {
    const system = await service.find(paths.system, signal);
    if (system) return system;
    // Services rename their resources when their firmware changes.
    cache.delete(service);
  }
  const systems = await systemsOf(service, signal);
  if (systems.length === 0) return undefined;
  const system = pickSystem(systems, node);
  if (!system) throw ambiguous(systems, node);
  pathsOf(service).system = system.path;
  return system;
}

export async function systemOf(service: RedfishService, node: string, signal: AbortSignal): Promise<Resource> {
  const system = await findSystem(service, node, signal);
  if (!system) throw new Fault('invalid', 'its Redfish service has no computer system.');
  return system;
}

export async function systemsOf(service: RedfishService, signal: AbortSignal): Promise<readonly Resource[]> {
  const root = await service.root(signal);
  return memberResources(service, linkAt(root.body, 'Systems'), signal);
}

/**
 * A service with several systems needs a rule: the only one; else the one whose Id, Name, HostName, AssetTag or SerialNumber
 * is the node's name; else the only physical one that can be reset. If that leaves more than one, none is picked: the wrong
 * machine would be switched off.
 */
export function pickSystem(systems: readonly Resource[], node: string): Resource | undefined {
  if (systems.length < 2) return systems[0];
  const wanted = node.toLowerCase();
  const names = ['Id', 'Name', 'HostName', 'AssetTag', 'SerialNumber'];
  const named = systems.filter(({ body }) => names.some((name) => textAt(body, name)?.toLowerCase() === wanted));
  if (named.length === 1) return named[0];
  const real = systems.filter(
    ({ body }) =>
      (textAt(body, 'SystemType') ?? 'Physical') === 'Physical' &&
      at(body, 'Actions', '#ComputerSystem.Reset') !== undefined,
  );
  return real.length === 1 ? real[0] : undefined;
}

function ambiguous(systems: readonly Resource[], node: string): Fault {
  const listed = systems.slice(0, 20).map(({ path, body }) => textAt(body, 'Id') ?? path);
  return new Fault(
    'invalid',
    `its Redfish service has ${systems.length} computer systems (${listed.join(', ')}) and none of them is surely this ` +
      `node; give the one that is meant the AssetTag "${node}".`,
  );
}

/** The chassis its system names, else those that name the system, else all. Without a system, the outermost. */
export async function chassisOf(
  service: RedfishService,
  node: string,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const { chassis: before } = pathsOf(service);
  if (before) return resourcesAt(service, before, signal);
  const system = pickSystem(await systemsOf(service, signal), node);
  const named = linksAt(system?.body, 'Links', 'Chassis');
  const root = await service.root(signal);
  const all =
    named.length > 0
      ? await resourcesAt(service, named, signal)
      : await memberResources(service, linkAt(root.body, 'Chassis'), signal);
  const chassis = named.length > 0 ? all : system ? holding(all, system) : outermost(all);
  pathsOf(service).chassis = chassis.map(({ path }) => path);
  return chassis;
}

function holding(all: readonly Resource[], system: Resource): readonly Resource[] {
  const holders = all.filter(({ body }) => linksAt(body, 'Links', 'ComputerSystems').includes(system.path));
  return holders.length > 0 ? holders : all;
}

function outermost(all: readonly Resource[]): readonly Resource[] {
  const inside = new Set(all.flatMap(({ body }) => linksAt(body, 'Links', 'Contains')));
  return all.filter(({ path, body }) => !inside.has(path) && linkAt(body, 'Links', 'ContainedBy') === undefined);
}

/** The manager of a node: the first its system names, else the first that is a BMC, else the first. */
export async function managerOf(
  service: RedfishService,
  node: string,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const paths = pathsOf(service);
  if ('manager' in paths) return service.find(paths.manager, signal);
  const [named] = linksAt(pickSystem(await systemsOf(service, signal), node)?.body, 'Links', 'ManagedBy');
  if (named !== undefined) {
    pathsOf(service).manager = named;
    return service.find(named, signal);
  }
  const root = await service.root(signal);
  const managers = await memberResources(service, linkAt(root.body, 'Managers'), signal);
  const manager = managers.find(({ body }) => textAt(body, 'ManagerType') === 'BMC') ?? managers[0];
  pathsOf(service).manager = manager?.path;
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
