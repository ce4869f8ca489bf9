import type { Resource } from '../../protocols/redfish/client.ts';
import { memberResources, resourcesAt } from '../../protocols/redfish/collection.ts';
import { linkAt, linksAt, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { companionsOf, pickSystem, type Wanted } from '../../protocols/redfish/node-resources.ts';
import type { Subnodes } from '../capabilities.ts';
import { present } from './labels.ts';
import type { Target } from './target.ts';

type Members = Readonly<Record<string, Readonly<Record<string, string>>>>;

/**
 * The computer systems of a service but the one the node is itself and the boards of its machine, and what its chassis contain that is no computer. Each is called by its host name,
 * else by its Id behind the name of the chassis; equal names differ by their number.
 */
export function redfishSubnodes({ service, access }: Target): Subnodes {
  return {
    async list(signal): Promise<Members> {
      const { body: root } = await service.root(signal);
      const chassis = await memberResources(service, linkAt(root, 'Chassis'), signal);
      const listed = await memberResources(service, linkAt(root, 'Systems'), signal);
      const systems = new Map(listed.map((system) => [system.path, system]));
      const linked = chassis.flatMap(({ body }) => linksAt(body, 'Links', 'ComputerSystems'));
      const missing = [...new Set(linked)].filter((path) => !systems.has(path));
      for (const system of await resourcesAt(service, missing, signal)) systems.set(system.path, system);
      const holderOf = holdersIn(chassis);
      const members = [...systems.values()].map((system) => {
        return { resource: system, holder: holderOf(system), type: 'system' };
      });
      const own = ownSystem(members, access);
      const machine = own ? [own, ...companionsOf([...systems.values()], own)] : [];
      return byName(access.node, [
        ...members.filter(({ resource }) => !machine.includes(resource)),
        ...containedOnly(chassis).map((one) => ({ resource: one, holder: one, type: 'chassis' })),
      ]);
    },
  };
}

/** The system that the node is itself: of several as always, and the only one unless it sits inside another chassis. */
function ownSystem(members: readonly Member[], wanted: Wanted): Resource | undefined {
  const [first] = members;
  if (members.length === 1 && isInside(first?.holder)) return undefined;
  return pickSystem(
    members.map(({ resource }) => resource),
    wanted,
  );
}

const isInside = (chassis: Resource | undefined): boolean =>
  linkAt(chassis?.body, 'Links', 'ContainedBy') !== undefined;

/** Finds the chassis a system is in; of several the innermost, else the first. */
function holdersIn(chassis: readonly Resource[]): (system: Resource) => Resource | undefined {
  const positions = new Map(chassis.map(({ path }, position) => [path, position]));
  const links = chassis.flatMap(({ body }, position) =>
    linksAt(body, 'Links', 'ComputerSystems').map((path) => ({ path, position })),
  );
  const naming = Map.groupBy(links, ({ path }) => path);
  return ({ path, body }) => {
    const named = linksAt(body, 'Links', 'Chassis').flatMap((one) => positions.get(one) ?? []);
    const all = [...named, ...(naming.get(path) ?? []).map(({ position }) => position)];
    const holders = all.sort((a, b) => a - b).map((position) => chassis[position]!);
    return holders.find(isInside) ?? holders[0];
  };
}

function containedOnly(chassis: readonly Resource[]): readonly Resource[] {
  const inside = new Set(chassis.flatMap(({ body }) => linksAt(body, 'Links', 'Contains')));
  return chassis.filter(
    ({ path, body }) =>
      inside.has(path) &&
      textAt(body, 'Status', 'State') !== 'Absent' &&
      linksAt(body, 'Links', 'ComputerSystems').length === 0,
  );
}

interface Member {
  readonly resource: Resource;
  readonly holder: Resource | undefined;
  readonly type: string;
}

function byName(node: string, members: readonly Member[]): Members {
  const result = new Map<string, Readonly<Record<string, string>>>();
  const numbers = new Map<string, number>();
  for (const member of members) {
    const { path, body } = member.resource;
    const name = textAt(body, 'HostName') ?? `${node}-${textAt(body, 'Id') ?? path.split('/').at(-1) ?? path}`;
    let free = name;
    let number = numbers.get(name) ?? 2;
    for (; result.has(free); number++) free = `${name}-${number}`;
    numbers.set(name, number);
    result.set(free, attributesOf(member));
  }
  return Object.fromEntries(result);
}

function attributesOf({ resource: { body }, holder, type }: Member): Readonly<Record<string, string>> {
  const location = ['Location', 'PartLocation'] as const;
  const slot =
    numberAt(holder?.body, ...location, 'LocationOrdinalValue') ??
    textAt(holder?.body, ...location, 'ServiceLabel') ??
    textAt(body, ...location, 'ServiceLabel');
  return Object.fromEntries(
    present(
      ['type', type],
      ['manufacturer', textAt(body, 'Manufacturer')],
      ['model', textAt(body, 'Model') ?? textAt(holder?.body, 'Model')],
      ['serial', textAt(body, 'SerialNumber') ?? textAt(holder?.body, 'SerialNumber')],
      ['slot', slot],
      ['uuid', textAt(body, 'UUID')],
    ),
  );
}
