import { expands, memberResources, resourcesAt } from './collection.ts';
import { Refusal } from './faults.ts';
import { linkAt, linksAt } from './json.ts';
import {
  type ChassisPaths,
  companionsOf,
  isOnlyMachine,
  pathsOf,
  systemAmong,
  systemsOf,
  type Wanted,
} from './node-resources.ts';
import type { RedfishService, Resource } from './service.ts';

/** The chassis of a machine: those of the node's system itself, which commands act on, and the others. */
export interface MachineChassis {
  readonly own: readonly Resource[];
  readonly parts: readonly Resource[];
}

/** The chassis of the node's system: where its switch, its light, its power limit and its log may be. */
export async function chassisOf(
  service: RedfishService,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const { chassis: known } = pathsOf(service, wanted);
  return known ? resourcesAt(service, known.own, signal) : (await findChassis(service, wanted, signal)).own;
}

/** All chassis of the machine that the node is; with `measured`, of `parts` only those that link to readings. */
export async function machineChassisOf(
  service: RedfishService,
  wanted: Wanted,
  signal: AbortSignal,
  which: 'all' | 'measured' = 'all',
): Promise<MachineChassis> {
  const { chassis: known } = pathsOf(service, wanted);
  if (known) {
    const parts = which === 'all' ? known.parts : known.measured;
    const chassis = await readAgain(service, [...known.own, ...parts], signal);
    const isOwn = ({ path }: Resource): boolean => known.own.includes(path);
    return { own: chassis.filter(isOwn), parts: chassis.filter((one) => !isOwn(one)) };
  }
  const { own, parts } = await findChassis(service, wanted, signal);
  return { own, parts: which === 'all' ? parts : parts.filter(isMeasured) };
}

/** From so many on, one request for the whole collection is quicker than one for each. */
const many = 5;

async function readAgain(
  service: RedfishService,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const all = paths.length >= many && (await expands(service, signal)) ? await listed(service, signal) : [];
  const byPath = new Map(all.map((chassis) => [chassis.path, chassis]));
  const unread = paths.filter((path) => !byPath.has(path));
  // Where the list has shown others, those that it could not show are broken parts of a service that works.
  const read =
    unread.length < paths.length
      ? await thoseThatWork(service, unread, signal)
      : await resourcesAt(service, unread, signal, 'leaveOut');
  return [...paths.flatMap((path) => byPath.get(path) ?? []), ...read];
}

/** What links to readings. */
const readingLinks = [
  'Thermal',
  'Power',
  'Sensors',
  'ThermalSubsystem',
  'PowerSubsystem',
  'EnvironmentMetrics',
] as const;

const isMeasured = ({ body }: Resource): boolean => readingLinks.some((name) => linkAt(body, name) !== undefined);

async function findChassis(service: RedfishService, wanted: Wanted, signal: AbortSignal): Promise<MachineChassis> {
  const systems = await systemsOf(service, signal);
  const system = systemAmong(service, systems, wanted);
  const found = system
    ? await chassisAround(service, systems, system, signal)
    : { own: outermost(await listed(service, signal)), parts: [] };
  const pathsIn = (chassis: readonly Resource[]): readonly string[] => chassis.map(({ path }) => path);
  const paths: ChassisPaths = {
    own: pathsIn(found.own),
    parts: pathsIn(found.parts),
    measured: pathsIn(found.parts.filter(isMeasured)),
  };
  pathsOf(service, wanted).chassis = paths;
  return found;
}

/** Those of the service; one of many that cannot be read does not hide the others. */
async function listed(service: RedfishService, signal: AbortSignal): Promise<readonly Resource[]> {
  return memberResources(service, linkAt((await service.root(signal)).body, 'Chassis'), signal, 'leaveOut');
}

/**
 * Its own are those the system names, else those that name it, with all that these contain; where nothing says so, all of them if
 * there is one system, of several none. The rest of the machine: of a service with one machine, whatever no other system claims. Of
 * one with several, what names the system, and what contains its chassis while no other system is inside.
 */
async function chassisAround(
  service: RedfishService,
  systems: readonly Resource[],
  system: Resource,
  signal: AbortSignal,
): Promise<MachineChassis> {
  const host = new Set([system.path]);
  const machine = new Set([system, ...companionsOf(systems, system)].map(({ path }) => path));
  const named = linksAt(system.body, 'Links', 'Chassis');
  const isAlone = isOnlyMachine(systems, system);
  // An enclosure may list hundreds: they are not all read for each of its nodes.
  const pool = isAlone || named.length === 0 ? await listed(service, signal) : [];
  const byPath = new Map(pool.map((chassis) => [chassis.path, chassis]));
  const unlisted = named.filter((path) => !byPath.has(path));
  for (const chassis of await resourcesAt(service, unlisted, signal)) byPath.set(chassis.path, chassis);
  const naming = pool.filter((chassis) => systemsIn(chassis).includes(system.path));
  const holders = named.length > 0 ? named.flatMap((path) => byPath.get(path) ?? []) : naming;
  const inside = await contained(service, holders, byPath, host, signal);
  const own = inside.length > 0 ? inside : systems.length > 1 ? [] : pool;
  const around = isAlone
    ? pool.filter((chassis) => !isWithinOthers(chassis, byPath, machine))
    : [...naming, ...(await containers(service, own, machine, signal))];
  const all = await contained(service, [...own, ...around], byPath, machine, signal);
  const ownPaths = new Set(own.map(({ path }) => path));
  return { own, parts: all.filter(({ path }) => !ownPaths.has(path)) };
}

const systemsIn = ({ body }: Resource): readonly string[] => linksAt(body, 'Links', 'ComputerSystems');

/** Whether it is there for other systems alone. */
function isOthers(chassis: Resource, machine: ReadonlySet<string>): boolean {
  const inside = systemsIn(chassis);
  return inside.length > 0 && !inside.some((path) => machine.has(path));
}

/** More chassis than any machine has. */
const mostChassis = 200;

/** They and what is inside them, but for what is others': machines with many accelerators have a chassis for each. */
async function contained(
  service: RedfishService,
  holders: readonly Resource[],
  byPath: ReadonlyMap<string, Resource>,
  machine: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const found = new Map(holders.map((chassis) => [chassis.path, chassis]));
  for (let level = holders; level.length > 0 && found.size < mostChassis; ) {
    const paths = new Set(level.flatMap(({ body }) => linksAt(body, 'Links', 'Contains')));
    const fresh = [...paths].filter((path) => !found.has(path)).slice(0, mostChassis - found.size);
    const unread = fresh.filter((path) => !byPath.has(path));
    const read = fresh.flatMap((path) => byPath.get(path) ?? []);
    const inside = [...read, ...(await thoseThatWork(service, unread, signal))];
    level = inside.filter((chassis) => !isOthers(chassis, machine));
    for (const chassis of level) found.set(chassis.path, chassis);
  }
  return [...found.values()];
}

/** A part that the service fails to show does not hide the machine. */
async function thoseThatWork(
  service: RedfishService,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  try {
    return await resourcesAt(service, paths, signal, 'leaveOut');
  } catch (error) {
    if (!(error instanceof Refusal && error.ofService)) throw error;
    return [];
  }
}

/** Whether it, or one that it is in, is there for other systems alone. */
function isWithinOthers(
  chassis: Resource,
  byPath: ReadonlyMap<string, Resource>,
  machine: ReadonlySet<string>,
): boolean {
  let here: Resource | undefined = chassis;
  for (let depth = 0; here && depth < mostChassis; depth++) {
    if (isOthers(here, machine)) return true;
    here = byPath.get(linkAt(here.body, 'Links', 'ContainedBy') ?? '');
  }
  return false;
}

/** What contains them, from the inside out, up to the first that has another system in it as well. */
async function containers(
  service: RedfishService,
  chassis: readonly Resource[],
  machine: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  const seen = new Set(chassis.map(({ path }) => path));
  const found: Resource[] = [];
  const waiting = [...chassis];
  while (waiting.length > 0 && found.length < mostChassis) {
    const path = linkAt(waiting.pop()!.body, 'Links', 'ContainedBy');
    if (path === undefined || seen.has(path)) continue;
    seen.add(path);
    const container = await service.find(path, signal);
    if (!container || (await isShared(service, container, seen, machine, signal))) continue;
    found.push(container);
    waiting.push(container);
  }
  return found;
}

/** Looks at one after the other of what is inside: in an enclosure of many nodes, the first neighbour decides. */
async function isShared(
  service: RedfishService,
  container: Resource,
  known: ReadonlySet<string>,
  machine: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<boolean> {
  const isForeign = (chassis: Resource): boolean => systemsIn(chassis).some((path) => !machine.has(path));
  if (isForeign(container)) return true;
  const seen = new Set(known);
  const waiting = [...linksAt(container.body, 'Links', 'Contains')];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (seen.has(path)) continue;
    if (seen.size >= mostChassis) return true;
    seen.add(path);
    const inside = await service.find(path, signal);
    if (inside && isForeign(inside)) return true;
    waiting.push(...linksAt(inside?.body, 'Links', 'Contains'));
  }
  return false;
}

function outermost(all: readonly Resource[]): readonly Resource[] {
  const inside = new Set(all.flatMap(({ body }) => linksAt(body, 'Links', 'Contains')));
  return all.filter(({ path, body }) => !inside.has(path) && linkAt(body, 'Links', 'ContainedBy') === undefined);
}
