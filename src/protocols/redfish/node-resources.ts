import { Fault } from '../../core/errors.ts';
import { memberResources } from './collection.ts';
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
  companions?: readonly string[];
  chassis?: ChassisPaths;
  manager?: string | undefined;
}

/** Where the chassis of a machine lie. */
export interface ChassisPaths {
  /** Those of the system itself: what acts on the node acts on them. */
  readonly own: readonly string[];
  /** The others of the machine, such as those of its accelerators. */
  readonly parts: readonly string[];
  /** Those of `parts` that link to readings. */
  readonly measured: readonly string[];
}

const cache = new WeakMap<RedfishService, Paths>();

export function pathsOf(service: RedfishService, { system: wanted }: Wanted): Paths {
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
  return systemAmong(service, await systemsOf(service, signal), wanted);
}

/** The same of those that were read just now. */
export function systemAmong(
  service: RedfishService,
  systems: readonly Resource[],
  wanted: Wanted,
): Resource | undefined {
  if (systems.length === 0) return undefined;
  const system = pickSystem(systems, wanted);
  if (!system) throw ambiguous(systems, wanted);
  const paths = pathsOf(service, wanted);
  paths.system = system.path;
  paths.companions = companionsOf(systems, system).map(({ path }) => path);
  return system;
}

/** Where the further systems of the machine are, once its system was found. */
export function companionPaths(service: RedfishService, wanted: Wanted): readonly string[] {
  return pathsOf(service, wanted).companions ?? [];
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
 * is the node's name; else the only physical one that can be reset and is no baseboard of accelerators. If that leaves more than one, none is picked: the wrong
 * machine would be switched off.
 */
export function pickSystem(systems: readonly Resource[], { node, system }: Wanted): Resource | undefined {
  if (system !== undefined) return onlyOne(calledBy(systems, system, ['Id', 'SerialNumber', 'UUID']));
  if (systems.length < 2) return systems[0];
  const named = onlyOne(calledBy(systems, node, ['Id', 'Name', 'HostName', 'AssetTag', 'SerialNumber']));
  if (named) return named;
  return onlyOne(systems.filter(isHost));
}

const isPhysical = ({ body }: Resource): boolean => (textAt(body, 'SystemType') ?? 'Physical') === 'Physical';
const canBeReset = ({ body }: Resource): boolean => at(body, 'Actions', '#ComputerSystem.Reset') !== undefined;

const isHost = (system: Resource): boolean => isPhysical(system) && canBeReset(system) && !isBaseboard(system);

/** What NVIDIA's services call the board with the accelerators, which some firmware lets be reset by itself. */
const isBaseboard = ({ body }: Resource): boolean => /^HGX_Baseboard/i.test(textAt(body, 'Id') ?? '');

/** A part of a machine that is shown as a system: nothing switches it, boots it or calls it by a host name. */
function isBoard(system: Resource): boolean {
  if (isBaseboard(system)) return true;
  const { body } = system;
  return !canBeReset(system) && at(body, 'Boot') === undefined && textAt(body, 'HostName') === undefined;
}

/** Whether a system is the only machine of its service: what no other system claims there belongs to it. */
export function isOnlyMachine(systems: readonly Resource[], system: Resource): boolean {
  if (systems.length === 1) return true;
  return onlyOne(systems.filter((one) => isPhysical(one) && !isBoard(one)))?.path === system.path;
}

/**
 * The further systems of the same machine: boards with accelerators. They count for what is read; what switches or boots the node
 * is the host's alone. With several machines nothing says whose they are.
 */
export function companionsOf(systems: readonly Resource[], system: Resource): readonly Resource[] {
  if (!isOnlyMachine(systems, system)) return [];
  return systems.filter((other) => other.path !== system.path && isPhysical(other) && isBoard(other));
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
