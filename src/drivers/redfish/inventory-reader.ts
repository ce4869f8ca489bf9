import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { textAt } from '../../protocols/redfish/json.ts';
import type { InventoryKind } from '../capabilities.ts';
import { type Line, present } from './labels.ts';
import { chassisFor, managerFor, systemIfAny, type Target } from './target.ts';

/** What one reading of an inventory is made from; each resource is read at most once. */
export interface Machine {
  readonly target: Target;
  readonly signal: AbortSignal;
  /** Or the enclosure, where the service has no system at all. */
  readonly system: Resource;
  chassis(): Promise<readonly Resource[]>;
  manager(): Promise<Resource | undefined>;
}

export type InventoryReader = (machine: Machine) => Promise<readonly Line[]>;
/** What is read for each selection, in the order of the lines. */
export type InventoryReaders = readonly (readonly [kinds: readonly InventoryKind[], read: InventoryReader])[];

/** Reads texts of the system itself, each under its label. */
export const ofSystem =
  (...lines: readonly (readonly [label: string, member: string])[]): InventoryReader =>
  async ({ system: { body } }) =>
    present(...lines.map(([label, member]) => [label, textAt(body, member)] as const));

export const identityLines: InventoryReader = async ({ system: { body } }) =>
  present(['UUID/GUID', textAt(body, 'UUID')?.toUpperCase()]);

export async function machineOf(target: Target, signal: AbortSignal): Promise<Machine> {
  let chassis: Promise<readonly Resource[]> | undefined;
  const chassisOnce = (): Promise<readonly Resource[]> => (chassis ??= chassisFor(target, signal));
  const system = (await systemIfAny(target, signal)) ?? (await chassisOnce())[0];
  if (!system) throw new Fault('invalid', 'its Redfish service has neither a computer system nor a chassis.');
  let manager: Promise<Resource | undefined> | undefined;
  return {
    target,
    signal,
    system,
    chassis: chassisOnce,
    manager: () => (manager ??= managerFor(target, signal)),
  };
}
