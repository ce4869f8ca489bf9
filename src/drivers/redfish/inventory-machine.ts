import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import type { MachineChassis } from '../../protocols/redfish/chassis.ts';
import { memberResources, resourcesAt } from '../../protocols/redfish/collection.ts';
import { linkAt, textAt } from '../../protocols/redfish/json.ts';
import { companionPaths } from '../../protocols/redfish/node-resources.ts';
import type { InventoryKind } from '../capabilities.ts';
import { type Line, present } from './labels.ts';
import { machineChassisFor, managerFor, systemIfAny, type Target } from './target.ts';

/** What one reading of an inventory is made from; each resource is read at most once. */
interface Machine {
  readonly target: Target;
  readonly signal: AbortSignal;
  /** Or the enclosure, where the service has no system at all. */
  readonly system: Resource;
  /** Further systems of the same machine, such as the board with its accelerators. */
  companions(): Promise<readonly Resource[]>;
  /** Of the system itself. */
  processors(): Promise<readonly Resource[]>;
  chassis(): Promise<MachineChassis>;
  manager(): Promise<Resource | undefined>;
}

export type InventoryReader = (machine: Machine) => Promise<readonly Line[]>;
/** What is read for each selection, in the order of the lines. */
export type InventoryReaders = readonly (readonly [kinds: readonly InventoryKind[], read: InventoryReader])[];

export async function machineOf(target: Target, signal: AbortSignal): Promise<Machine> {
  const { service, access } = target;
  const chassis = once(() => machineChassisFor(target, signal));
  const system = (await systemIfAny(target, signal)) ?? (await chassis()).own[0];
  if (!system) throw new Fault('invalid', 'its Redfish service has neither a computer system nor a chassis.');
  return {
    target,
    signal,
    system,
    companions: once(() => resourcesAt(service, companionPaths(service, access), signal)),
    processors: once(() => processorsIn(target, system, signal)),
    chassis,
    manager: once(() => managerFor(target, signal)),
  };
}

function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => (answer ??= ask());
}

/** Those that are there. */
export async function processorsIn(
  { service }: Target,
  system: Resource,
  signal: AbortSignal,
): Promise<readonly Resource[]> {
  return (await memberResources(service, linkAt(system.body, 'Processors'), signal)).filter(isThere);
}

export const isThere = ({ body }: Resource): boolean => textAt(body, 'Status', 'State') !== 'Absent';

export const withUnit = (value: number | undefined, unit: string): string | undefined =>
  value === undefined ? undefined : `${value} ${unit}`;

/** Reads texts of the system itself, each under its label. */
export const ofSystem =
  (...lines: readonly (readonly [label: string, member: string])[]): InventoryReader =>
  async ({ system: { body } }) =>
    present(...lines.map(([label, member]) => [label, textAt(body, member)] as const));
