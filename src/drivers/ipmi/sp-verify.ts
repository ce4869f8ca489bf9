import { Fault } from '../../core/errors.ts';
import { pause, unanswered } from '../../protocols/ipmi/commands/ask.ts';
import { getLanParameter, type LanSetting } from '../../protocols/ipmi/commands/lan.ts';
import { decodeDestination } from '../../protocols/ipmi/commands/lan-values.ts';
import type { Bmc } from './bmc.ts';
import { lanAttributes } from './sp-get.ts';

/** A setting that was made: what it should be, and how it is looked at. */
export interface Check {
  readonly attribute: string;
  readonly wanted: string;
  /** Undefined if the hardware does not tell. */
  read(signal: AbortSignal): Promise<string | undefined>;
}

/** Some hardware takes a moment before it shows what was set. */
const pauses: readonly number[] = [0, 200, 800];

/** How a LAN setting is read back; undefined for one that only goes with another. */
export function lanCheck(bmc: Bmc, channel: number, { parameter, value }: LanSetting): Check | undefined {
  const [number = 0] = value;
  const [attribute, show, selector] =
    parameter === 'destination'
      ? ([`snmpdest${number}`, decodeDestination, number] as const)
      : ([attributeOf(parameter), lanAttributes.get(attributeOf(parameter))?.show, 0] as const);
  if (show === undefined) return undefined;
  return {
    attribute,
    wanted: show(Buffer.from(value)),
    async read(signal) {
      const found = await getLanParameter(bmc.link, channel, parameter, signal, selector);
      return found && show(found);
    },
  };
}

const attributeOf = (parameter: string): string =>
  [...lanAttributes].find(([, attribute]) => attribute.parameter === parameter)?.[0] ?? '';

/** Hardware may accept a setting and not keep it. What it refuses to tell is believed. */
async function look(check: Check, signal: AbortSignal): Promise<string | undefined> {
  const { attribute, wanted } = check;
  try {
    return await check.read(signal);
  } catch (error) {
    if (!(error instanceof Fault) || signal.aborted) throw error;
    if (!unanswered(error, signal)) return undefined;
    const sentence = `its service processor accepted ${attribute} "${wanted}" but has not answered since; whether it kept it is not known.`;
    throw new Fault('deadline', sentence, { cause: error });
  }
}

async function problem(check: Check, signal: AbortSignal): Promise<string | undefined> {
  const { attribute, wanted } = check;
  let shown: string | undefined;
  for (const wait of pauses) {
    if (wait > 0) await pause(wait, signal);
    shown = await look(check, signal);
    if (shown === undefined || shown === wanted) return undefined;
  }
  return `its service processor accepted ${attribute} but did not keep it: wanted "${wanted}", found "${shown}".`;
}

/** Reads back what was set; a Fault names every setting that was not kept. */
export async function verify(checks: readonly (Check | undefined)[], signal: AbortSignal): Promise<void> {
  const problems: string[] = [];
  for (const check of checks) {
    const sentence = check && (await problem(check, signal));
    if (sentence !== undefined) problems.push(sentence);
  }
  if (problems.length > 0) throw new Fault('invalid', problems);
}
