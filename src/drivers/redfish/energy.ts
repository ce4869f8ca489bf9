import { Fault } from '../../core/errors.ts';
import { Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { at, type Json, linkAt, linksAt, listAt, localPath, numberAt, textAt } from '../../protocols/redfish/json.ts';
import type { Energy } from '../capabilities.ts';
import { labelled, type Line } from './labels.ts';
import { chassisFor, machineChassisFor, systemIfAny, type Target, until } from './target.ts';

interface PowerLimit {
  readonly resource: Resource;
  /** The Control the limit is an excerpt of, which may be the only place that takes changes. */
  readonly control: string | undefined;
  readonly minimum: number | undefined;
  readonly maximum: number | undefined;
  readonly value: number | undefined;
  readonly active: boolean;
  activation(on: boolean): Json;
  setting(watts: number): Json;
}

interface Consumption {
  /** Watts. */
  readonly average: number | undefined;
  /** Watts at the moment. */
  readonly drawn: number | undefined;
  readonly limit: PowerLimit | undefined;
}

/** The newer EnvironmentMetrics (or the Control it comes from) before the PowerControl of the older Power resource. */
async function consumptionOf(target: Target, signal: AbortSignal): Promise<Consumption> {
  const { service, limits } = target;
  const known: { average: number | undefined; drawn: number | undefined } = { average: undefined, drawn: undefined };
  let found: PowerLimit | undefined;
  for (const { body } of await chassisFor(target, signal)) {
    const metrics = await service.find(linkAt(body, 'EnvironmentMetrics'), signal);
    const power = await service.find(linkAt(body, 'Power'), signal);
    const [control] = listAt(power?.body, 'PowerControl');
    known.average ??= averageIn(control);
    known.drawn ??= numberAt(control, 'PowerConsumedWatts') ?? drawnIn(metrics?.body);
    const last = power && limits.get(limitKey(target, power));
    found = (metrics && environmentLimit(metrics)) ?? (power && controlLimit(power, last));
    if (!found) continue;
    if (found.resource === power && found.value !== undefined) remember(target, power, found.value);
    break;
  }
  const drawn = known.drawn ?? (known.average === undefined ? await drawnAround(target, signal) : undefined);
  return { average: known.average, drawn, limit: found };
}

/** Services that do not measure show an average of 0 watts, over no time. */
function averageIn(control: Json): number | undefined {
  const average = numberAt(control, 'PowerMetrics', 'AverageConsumedWatts');
  return average === 0 && numberAt(control, 'PowerMetrics', 'IntervalInMin') === 0 ? undefined : average;
}

const drawnIn = (metrics: Json): number | undefined =>
  numberAt(metrics, 'PowerWatts', 'Reading') ?? numberAt(metrics, 'PowerWatts');

/** Machines with accelerators have a chassis for all of it beside that of the system, which names the system too. */
async function drawnAround(target: Target, signal: AbortSignal): Promise<number | undefined> {
  const { parts } = await machineChassisFor(target, signal, 'measured');
  const system = await systemIfAny(target, signal);
  const naming = parts.filter(({ body }) => system && linksAt(body, 'Links', 'ComputerSystems').includes(system.path));
  let most: number | undefined;
  for (const { body } of naming) {
    const metrics = await target.service.find(linkAt(body, 'EnvironmentMetrics'), signal);
    const drawn = drawnIn(metrics?.body);
    if (drawn !== undefined) most = Math.max(drawn, most ?? 0);
  }
  return most;
}

async function powerLimitOf(target: Target, signal: AbortSignal): Promise<PowerLimit> {
  const { limit } = await consumptionOf(target, signal);
  if (!limit) throw new Fault('invalid', 'its BMC has no power limit.');
  return limit;
}

async function changeLimit(
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
function environmentLimit(resource: Resource): PowerLimit | undefined {
  const control = at(resource.body, 'PowerLimitWatts');
  if (typeof control !== 'object' || control === null) return undefined;
  const value = limitAt(control, 'SetPoint');
  return {
    resource,
    control: localPath(at(control, 'DataSourceUri')),
    minimum: numberAt(control, 'AllowableMin'),
    maximum: capacityAt(control, 'AllowableMax'),
    value,
    active: value !== undefined && (textAt(control, 'ControlMode') ?? 'Automatic') !== 'Disabled',
    activation: (on) => ({ PowerLimitWatts: { ControlMode: on ? 'Automatic' : 'Disabled' } }),
    setting: (watts) => ({ PowerLimitWatts: { SetPoint: watts } }),
  };
}

/** Power.PowerControl with a PowerLimit: a limit of null is none, so `last` is the one to turn on again. */
function controlLimit(resource: Resource, last: number | undefined): PowerLimit | undefined {
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
        'its BMC cannot keep a power limit that is off and does not report the highest one; ' +
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

/** In the order of the reference system, which prints `na` where nothing is known; the last is shown unasked where no average is known. */
const readable = [
  'cappingstatus',
  'cappingmaxmin',
  'cappingmin',
  'cappingmax',
  'cappingvalue',
  'averageAC',
  'powerusage',
] as const;
type Attribute = (typeof readable)[number];
/** Some services show a new limit a little later. */
const settles = 10_000;

export function redfishEnergy(target: Target): Energy {
  return {
    async read(attributes, signal) {
      const unknown = attributes.filter((name) => !readable.includes(name as Attribute));
      if (unknown.length > 0) {
        throw new Fault(
          'invalid',
          `unknown energy attributes: ${unknown.join(', ')}; known are ${readable.join(', ')}.`,
        );
      }
      const found = await consumptionOf(target, signal);
      if (found.average === undefined && found.drawn === undefined && !found.limit)
        throw new Fault('invalid', 'its BMC reports neither a power limit nor what is consumed.');
      const isNeeded = found.average === undefined && found.drawn !== undefined;
      const known = readable.filter((name) => name !== 'powerusage' || isNeeded);
      const wanted = attributes.length > 0 ? (attributes as readonly Attribute[]) : known;
      // cappingmaxmin stands for the two.
      const single = wanted.flatMap((name) =>
        name === 'cappingmaxmin' ? (['cappingmin', 'cappingmax'] as const) : name,
      );
      return labelled([...new Set(single)].map((name): Line => [name, shown[name](found)]));
    },
    set: (attribute, value, signal) => setEnergy(target, attribute, value, signal),
  };
}

const unknown = 'na';
const inWatts = (value: number | undefined): string =>
  value === undefined ? unknown : `${Number(value.toFixed(1))} W`;

const shown: Readonly<Record<Exclude<Attribute, 'cappingmaxmin'>, (found: Consumption) => string>> = {
  averageAC: ({ average }) => inWatts(average),
  powerusage: ({ drawn }) => inWatts(drawn),
  cappingmax: ({ limit }) => inWatts(limit?.maximum),
  cappingmin: ({ limit }) => inWatts(limit?.minimum),
  cappingstatus: ({ limit }) => (limit ? (limit.active ? 'on' : 'off') : unknown),
  cappingvalue: ({ limit }) => inWatts(limit?.value),
};

async function setEnergy(target: Target, attribute: string, value: string, signal: AbortSignal): Promise<void> {
  if (attribute !== 'cappingstatus' && attribute !== 'cappingvalue') {
    throw new Fault('invalid', `energy attribute ${attribute} cannot be set; cappingstatus and cappingvalue can.`);
  }
  if (attribute === 'cappingstatus') {
    if (value !== 'on' && value !== 'off') throw new Fault('invalid', `cappingstatus is on or off, not "${value}".`);
    const limit = await powerLimitOf(target, signal);
    if (limit.active === (value === 'on')) return;
    await changeLimit(target, limit, limit.activation(value === 'on'), signal);
    return confirm(target, ({ active }) => active === (value === 'on'), `cappingstatus ${value}`, signal);
  }
  const limit = await powerLimitOf(target, signal);
  const watts = wattsOf(value, limit);
  await changeLimit(target, limit, limit.setting(watts), signal);
  await confirm(target, (now) => now.value === watts, `cappingvalue ${watts}`, signal);
}

/** Watts, or percent of the range, which begins at 0 if only its end is known; outside is a Fault before the service is asked. */
export function wattsOf(text: string, { minimum, maximum }: Pick<PowerLimit, 'minimum' | 'maximum'>): number {
  const parts = /^\s*(\d{1,7}(?:\.\d{1,3})?)\s*(%|w|watts)?\s*$/i.exec(text);
  if (!parts)
    throw new Fault('invalid', `cappingvalue is a number of watts, or percent of the range like 50%, not "${text}".`);
  const number = Number(parts[1]);
  if (parts[2] === '%') {
    if (number > 100) throw new Fault('invalid', `cappingvalue ${number}% is more than 100%.`);
    if (maximum === undefined) {
      throw new Fault(
        'invalid',
        'its BMC does not report the highest power limit, so a percentage has no meaning; ' +
          'give cappingvalue in watts.',
      );
    }
    const lowest = minimum ?? 0;
    return inside(Math.round(lowest + ((maximum - lowest) * number) / 100), minimum, maximum);
  }
  return inside(number, minimum, maximum);
}

function inside(watts: number, minimum = 1, maximum = Number.MAX_VALUE): number {
  if (watts >= minimum && watts <= maximum) return watts;
  const to = maximum === Number.MAX_VALUE ? 'up' : `to ${maximum}`;
  throw new Fault('invalid', `cappingvalue ${watts} is outside the range of ${minimum} ${to} W.`);
}

async function confirm(
  target: Target,
  reached: (limit: PowerLimit) => boolean,
  what: string,
  signal: AbortSignal,
): Promise<void> {
  await until(
    () => powerLimitOf(target, signal),
    reached,
    (limit) =>
      new Fault(
        'invalid',
        `its BMC took ${what}, but shows cappingstatus ${limit.active ? 'on' : 'off'} and cappingvalue ${limit.value ?? 'na'}.`,
      ),
    settles,
    signal,
  );
}
