import { type RedfishClient, type RedfishService, Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { linkAt } from '../../protocols/redfish/json.ts';
import { chassisOf, findSystem, managerOf, systemOf } from '../../protocols/redfish/node-resources.ts';
import type { BmcAccess } from '../bmc/target.ts';

export interface Target {
  readonly access: BmcAccess;
  readonly client: RedfishClient;
  readonly service: RedfishService;
  /** How long a power command may take to reach its state, in milliseconds. */
  readonly powerTimeout: number;
  /** How long a service processor may take to come up at a new address, in milliseconds. */
  readonly addressTimeout: number;
  /** The last power limits of services that forget them when they are turned off, by address and path. */
  readonly limits: Map<string, number>;
}

export function systemFor({ service, access }: Target, signal: AbortSignal): Promise<Resource> {
  return systemOf(service, access, signal);
}

export function chassisFor({ service, access }: Target, signal: AbortSignal): Promise<readonly Resource[]> {
  return chassisOf(service, access, signal);
}

export function managerFor({ service, access }: Target, signal: AbortSignal): Promise<Resource | undefined> {
  return managerOf(service, access, signal);
}

/** Nothing if the service has no system at all, as those of enclosures. */
export function systemIfAny({ service, access }: Target, signal: AbortSignal): Promise<Resource | undefined> {
  return findSystem(service, access, signal);
}

/** Some services take changes only at the resource that holds settings for the next boot. Resolves with where it was changed. */
export async function patchSystem(
  target: Target,
  system: Resource,
  change: unknown,
  signal: AbortSignal,
): Promise<string> {
  const settings = linkAt(system.body, '@Redfish.Settings', 'SettingsObject');
  try {
    await target.service.patch(system, change, signal);
    return system.path;
  } catch (error) {
    if (!(error instanceof Refusal && error.ofRequest)) throw error;
    const pending = await target.service.find(settings, signal);
    if (!pending) throw error;
    await target.service.patch(pending, change, signal);
    return pending.path;
  }
}
