import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { textAt } from '../../protocols/redfish/json.ts';
import { chassisFor, systemIfAny, type Target } from './target.ts';

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

export interface Powered {
  readonly resource: Resource;
  readonly state: string;
}

export type PowerReader = (target: Target, signal: AbortSignal) => Promise<Powered>;

/** The chassis has power, but the system in it does not run: OpenBMC tells the two apart. */
export const chassisOnly = 'on (Chassis)';

/** The system with its power state, or that of its chassis; where there is no system, the enclosure. */
export async function powered(target: Target, signal: AbortSignal): Promise<Powered> {
  const system = await systemIfAny(target, signal);
  const own = system && powerStateIn(system);
  if (system && own !== undefined) return { resource: system, state: own };
  for (const chassis of await chassisFor(target, signal)) {
    const state = powerStateIn(chassis);
    if (state !== undefined) return { resource: system ?? chassis, state };
  }
  throw new Fault('invalid', 'its service processor does not tell the power state.');
}
