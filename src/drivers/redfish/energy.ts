import { Fault } from '../../core/errors.ts';
import type { Energy } from '../capabilities.ts';
import { type Line, labelled } from './labels.ts';
import { changeLimit, type PowerLimit, powerLimitOf } from './power-limit.ts';
import type { Target } from './target.ts';
import { until } from './until.ts';

/** In the order of the reference system, which prints `na` where nothing is known. */
const readable = ['cappingstatus', 'cappingmaxmin', 'cappingmin', 'cappingmax', 'cappingvalue', 'averageAC'] as const;
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
      const limit = await powerLimitOf(target, signal);
      const wanted = attributes.length > 0 ? (attributes as readonly Attribute[]) : readable;
      // cappingmaxmin stands for the two.
      const single = wanted.flatMap((name) =>
        name === 'cappingmaxmin' ? (['cappingmin', 'cappingmax'] as const) : name,
      );
      return labelled([...new Set(single)].map((name): Line => [name, shown[name](limit)]));
    },
    set: (attribute, value, signal) => setEnergy(target, attribute, value, signal),
  };
}

const inWatts = (value: number | undefined): string => (value === undefined ? 'na' : `${value} W`);

const shown: Readonly<Record<Exclude<Attribute, 'cappingmaxmin'>, (limit: PowerLimit) => string>> = {
  averageAC: ({ average }) => inWatts(average),
  cappingmax: ({ maximum }) => inWatts(maximum),
  cappingmin: ({ minimum }) => inWatts(minimum),
  cappingstatus: ({ active }) => (active ? 'on' : 'off'),
  cappingvalue: ({ value }) => inWatts(value),
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
        'its service processor does not tell the highest power limit, of which a percentage could be taken; ' +
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
        `its service processor took ${what}, but shows cappingstatus ${limit.active ? 'on' : 'off'} and cappingvalue ${limit.value ?? 'na'}.`,
      ),
    settles,
    signal,
  );
}
