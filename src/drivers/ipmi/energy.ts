import { Fault } from '../../core/errors.ts';
import {
  activatePowerLimit,
  getPowerLimit,
  getPowerReading,
  getTemperatures,
  type PowerReading,
  setPowerLimit,
} from '../../protocols/ipmi/commands/dcmi.ts';
import { unanswered } from '../../protocols/ipmi/commands/ask.ts';
import type { Energy, Labelled } from '../capabilities.ts';
import type { Bmc } from './bmc.ts';

/** DCMI entity of the inlet. */
const inlet = 0x40;
/** Taken where no limit was ever set: no action but the limit itself, a second to come below it. */
const freshLimit = { exceptionAction: 0, correctionTime: 1000, samplingPeriod: 1 };

/** What the reference system prints for what the hardware does not report. */
const unknown = 'na';
const watts = (value: number | undefined) => (value === undefined ? unknown : `${value} W`);

/** `11/15/2026 - 02:51:00` in universal time. */
function stampText(seconds: number): string {
  const iso = new Date(seconds * 1000).toISOString();
  return `${iso.slice(5, 7)}/${iso.slice(8, 10)}/${iso.slice(0, 4)} - ${iso.slice(11, 19)}`;
}

function usageLabels(reading: PowerReading): Labelled {
  return {
    'Current Power': `${reading.current} Watts`,
    'Minimum Power over sampling duration': `${reading.minimum} Watts`,
    'Maximum Power over sampling duration': `${reading.maximum} Watts`,
    'Average Power over sampling duration': `${reading.average} Watts`,
    'Time Stamp': stampText(reading.time),
    'Statistics reporting time period': `${reading.period} milliseconds`,
    'Power Measurement': reading.active ? 'Active' : 'Not Active',
  };
}

type Reader = (bmc: Bmc, signal: AbortSignal) => Promise<Labelled>;

async function cappingStatus(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  return { cappingstatus: (await getPowerLimit(bmc.link, signal)).active ? 'on' : 'off' };
}

async function cappingValue(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  const { limit } = await getPowerLimit(bmc.link, signal);
  return { cappingvalue: watts(limit?.watts) };
}

async function ambient(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  const [degrees] = await getTemperatures(bmc.link, inlet, signal);
  return { ambienttemp: degrees === undefined ? unknown : `${degrees} C` };
}

/**
 * DCMI 1.5 has no command for the range: not one of its five capability parameters holds it, and the minimum and maximum of Get
 * Power Reading are what was consumed. The BMC shows it only by refusing (84h).
 */
const lowest: Labelled = { cappingmin: unknown };
const highest: Labelled = { cappingmax: unknown };

const readers: Readonly<Record<string, Reader>> = {
  cappingstatus: cappingStatus,
  cappingvalue: cappingValue,
  cappingmin: async () => lowest,
  cappingmax: async () => highest,
  // It stands for the two.
  cappingmaxmin: async () => ({ ...highest, ...lowest }),
  averageAC: async (bmc, signal) => ({ averageAC: watts((await getPowerReading(bmc.link, signal)).average) }),
  powerusage: async (bmc, signal) => usageLabels(await getPowerReading(bmc.link, signal)),
  ambienttemp: ambient,
};
const known = Object.keys(readers);
/** Of these a BMC that reports any energy at all has one. */
const essential = ['cappingstatus', 'averageAC'];

/** What a BMC does not have, such as a limit, does not hide the rest. */
async function readAll(bmc: Bmc, signal: AbortSignal): Promise<Labelled> {
  const labels: Labelled[] = [];
  const refused = new Set<string>();
  for (const attribute of known) {
    try {
      labels.push(await readers[attribute]!(bmc, signal));
    } catch (error) {
      if (signal.aborted || !(error instanceof Fault) || unanswered(error, signal)) throw error;
      refused.add(attribute);
      if (essential.every((name) => refused.has(name))) throw error;
      if (attribute !== 'powerusage') labels.push({ [attribute]: unknown });
    }
  }
  return Object.assign({}, ...labels) as Labelled;
}
const writable = ['cappingstatus', 'cappingvalue', 'cappingwatt'];

async function setStatus(bmc: Bmc, value: string, signal: AbortSignal): Promise<void> {
  const on = parseSwitch(value);
  await activatePowerLimit(bmc.link, on, signal);
  if ((await getPowerLimit(bmc.link, signal)).active !== on) {
    throw new Fault('invalid', `its BMC took the command but its power limit is ${on ? 'off' : 'on'}.`);
  }
}

async function setValue(bmc: Bmc, value: string, signal: AbortSignal): Promise<void> {
  const wanted = parseWatts(value);
  const { limit = { ...freshLimit, watts: 0 } } = await getPowerLimit(bmc.link, signal);
  await setPowerLimit(bmc.link, { ...limit, watts: wanted }, signal);
  const kept = (await getPowerLimit(bmc.link, signal)).limit?.watts;
  if (kept !== undefined && kept !== wanted) {
    throw new Fault('invalid', `its BMC made the power limit ${kept} W instead of ${wanted} W.`);
  }
}

export function ipmiEnergy(bmc: Bmc): Energy {
  return {
    async read(attributes, signal) {
      const stranger = attributes.find((attribute) => !known.includes(attribute));
      if (stranger !== undefined) {
        throw new Fault('invalid', `there is no energy attribute "${stranger}" on IPMI; known: ${known.join(', ')}.`);
      }
      if (attributes.length === 0) return readAll(bmc, signal);
      const labels: Labelled[] = [];
      for (const attribute of attributes) labels.push(await readers[attribute]!(bmc, signal));
      return Object.assign({}, ...labels) as Labelled;
    },
    async set(attribute, value, signal) {
      if (attribute === 'cappingstatus') await setStatus(bmc, value, signal);
      else if (writable.includes(attribute)) await setValue(bmc, value, signal);
      else {
        const list = writable.join(', ');
        throw new Fault('invalid', `the energy attribute "${attribute}" cannot be set on IPMI; these can: ${list}.`);
      }
    },
  };
}

/** What the protocol can say. */
const mostWatts = 65_535;

/** `on`, `off`, `enable`, `disable` and what people write instead. */
export function parseSwitch(value: string): boolean {
  const word = value.trim();
  if (/^(on|en|enabled?)$/i.test(word)) return true;
  if (/^(off|dis|disabled?)$/i.test(word)) return false;
  throw new Fault('invalid', `the value "${value}" is neither on nor off.`);
}

/** `250` or `250W`. Of `50%` nobody knows what it is a part of. */
export function parseWatts(value: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)\s*(W|%)?$/i.exec(value.trim());
  if (!match) throw new Fault('invalid', `"${value}" is not a power limit; give watts such as 250 or 250W.`);
  if (match[2] === '%') {
    throw new Fault('invalid', 'its BMC does not report the range of its power limit; give watts instead of percent.');
  }
  const wanted = Math.round(Number(match[1]));
  if (wanted >= 1 && wanted <= mostWatts) return wanted;
  throw new Fault('invalid', `the power limit "${value}" is not between 1 W and ${mostWatts} W.`);
}
