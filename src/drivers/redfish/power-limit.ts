import { Fault } from '../../core/errors.ts';
import { Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { at, type Json, linkAt, listAt, localPath, numberAt, textAt } from '../../protocols/redfish/json.ts';
import { chassisFor, type Target } from './target.ts';

export interface PowerLimit {
  readonly resource: Resource;
  /** The Control the limit is an excerpt of, which may be the only place that takes changes. */
  readonly control: string | undefined;
  readonly average: number | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly value: number | undefined;
  readonly active: boolean;
  activation(on: boolean): Json;
  setting(watts: number): Json;
}

/** The newer EnvironmentMetrics (or the Control it comes from) before the PowerControl of the older Power resource. */
export async function powerLimitOf(target: Target, signal: AbortSignal): Promise<PowerLimit> {
  const { service, limits } = target;
  for (const { body } of await chassisFor(target, signal)) {
    const metrics = await service.find(linkAt(body, 'EnvironmentMetrics'), signal);
    const power = await service.find(linkAt(body, 'Power'), signal);
    const average = numberAt(listAt(power?.body, 'PowerControl')[0], 'PowerMetrics', 'AverageConsumedWatts');
    const last = power && limits.get(limitKey(target, power));
    const limit = (metrics && environmentLimit(metrics, average)) ?? (power && controlLimit(power, average, last));
    if (!limit) continue;
    if (limit.resource === power && limit.value !== undefined) remember(target, power, limit.value);
    return limit;
  }
  throw new Fault('invalid', 'its service processor has no power limit.');
}

export async function changeLimit(
  { service }: Target,
  { resource, control }: PowerLimit,
  change: Json,
  signal: AbortSignal,
): Promise<void> {
  try {
    await service.patch(resource, change, signal);
  } catch (error) {
    const source = error instanceof Refusal && error.ofRequest ? await service.find(control, signal) : undefined;
    if (!source) throw error;
    await service.patch(source, at(change, 'PowerLimitWatts'), signal);
  }
}

/** A capacity of 0 is none that is known. */
const capacityAt = (body: Json, ...names: string[]): number | undefined => numberAt(body, ...names) || undefined;

/** The largest number of 16 bits with a sign: services that have no limit show it instead of null. */
const noLimit = 32_767;

function limitAt(body: Json, ...names: string[]): number | undefined {
  const watts = numberAt(body, ...names);
  return watts === noLimit ? undefined : watts;
}

/** EnvironmentMetrics.PowerLimitWatts, a Control excerpt. */
export function environmentLimit(resource: Resource, average: number | undefined): PowerLimit | undefined {
  const control = at(resource.body, 'PowerLimitWatts');
  if (typeof control !== 'object' || control === null) return undefined;
  const value = limitAt(control, 'SetPoint');
  return {
    resource,
    control: localPath(at(control, 'DataSourceUri')),
    average,
    minimum: numberAt(control, 'AllowableMin'),
    maximum: capacityAt(control, 'AllowableMax'),
    value,
    active: value !== undefined && (textAt(control, 'ControlMode') ?? 'Automatic') !== 'Disabled',
    activation: (on) => ({ PowerLimitWatts: { ControlMode: on ? 'Automatic' : 'Disabled' } }),
    setting: (watts) => ({ PowerLimitWatts: { SetPoint: watts } }),
  };
}

/** Power.PowerControl with a PowerLimit: a limit of null is none, so `last` is the one to turn on again. */
export function controlLimit(
  resource: Resource,
  average: number | undefined,
  last: number | undefined,
): PowerLimit | undefined {
  const controls = listAt(resource.body, 'PowerControl');
  const index = controls.findIndex((control) => typeof at(control, 'PowerLimit') === 'object');
  if (index < 0) return undefined;
  const value = limitAt(controls[index], 'PowerLimit', 'LimitInWatts');
  const maximum = capacityAt(controls[index], 'PowerCapacityWatts');
  // What comes before in the array stays as it is (DSP0266 "PATCH on array properties").
  const change = (limit: number | null): Json => ({
    PowerControl: [...Array.from({ length: index }, () => ({})), { PowerLimit: { LimitInWatts: limit } }],
  });
  return {
    resource,
    control: undefined,
    average,
    minimum: undefined,
    maximum,
    value,
    active: value !== undefined && value > 0,
    activation(on) {
      if (!on) return change(null);
      const limit = last ?? maximum;
      if (limit !== undefined) return change(limit);
      throw new Fault(
        'invalid',
        'its service processor keeps no power limit that is off and does not tell the highest one; ' +
          'set cappingvalue, which turns it on.',
      );
    },
    setting: change,
  };
}

const maximumRemembered = 100_000;
const limitKey = ({ access }: Target, { path }: Resource): string => `${access.address} ${access.port ?? ''} ${path}`;

/** A limit that is seen is the one to turn on again after it was turned off. */
function remember(target: Target, resource: Resource, watts: number): void {
  if (target.limits.size >= maximumRemembered) target.limits.clear();
  target.limits.set(limitKey(target, resource), watts);
}
