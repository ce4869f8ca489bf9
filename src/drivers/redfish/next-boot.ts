import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { at, textAt, textsAt } from '../../protocols/redfish/json.ts';
import type { BootOrder, NextBoot } from '../capabilities.ts';
import { allowedWord, notOffered, patchSystem, systemFor, type Target, until } from './target.ts';

/** ComputerSystem.BootSource of the DMTF schemas: what stands for an order, best first. */
const targets: Readonly<Record<Exclude<BootOrder, 'def'>, readonly string[]>> = {
  net: ['Pxe', 'UefiHttp'],
  hd: ['Hdd'],
  cd: ['Cd'],
  floppy: ['Floppy'],
  setup: ['BiosSetup'],
};

const words: Readonly<Record<string, string>> = {
  Pxe: 'Network',
  UefiHttp: 'Network',
  Hdd: 'Hard Drive',
  Cd: 'CD/DVD',
  Floppy: 'Floppy',
  BiosSetup: 'BIOS Setup',
};

/** What is said when nothing overrides what the firmware does by itself. */
export interface DefaultWords {
  readonly inactive: string;
  readonly none: string;
}

const usual: DefaultWords = { inactive: 'boot override inactive', none: 'BIOS default' };
/** Services that hand a setting on show it a little later. */
const settles = 5_000;

export function redfishNextBoot(target: Target, defaults = usual): NextBoot {
  return {
    get: async (signal) => overrideIn(await systemFor(target, signal), defaults),
    set: (order, options, signal) => setOverride(target, order, options, defaults, signal),
  };
}

function overrideIn({ body }: Pick<Resource, 'body'>, { inactive, none }: DefaultWords): string {
  const boot = at(body, 'Boot');
  const source = textAt(boot, 'BootSourceOverrideTarget') ?? 'None';
  if ((textAt(boot, 'BootSourceOverrideEnabled') ?? 'Disabled') === 'Disabled') return inactive;
  return source === 'None' ? none : (words[source] ?? source);
}

async function setOverride(
  target: Target,
  order: BootOrder,
  options: Parameters<NextBoot['set']>[1],
  defaults: DefaultWords,
  signal: AbortSignal,
): Promise<string> {
  const system = await systemFor(target, signal);
  const boot = at(system.body, 'Boot');
  if (boot === undefined || boot === null) throw new Fault('invalid', 'its BMC cannot set what boots next.');
  const change = order === 'def' ? noOverride(boot) : override(boot, order, options);
  const changed = await patchSystem(target, system, { Boot: change }, signal);
  const wanted = order === 'def' ? defaults.inactive : words[change['BootSourceOverrideTarget']!]!;
  const shown = await until(
    async () => overrideIn(await target.service.get(changed, signal), defaults),
    (word) => word === wanted || (order === 'def' && word === defaults.none),
    (word) => new Fault('invalid', `its BMC accepted the setting ${order}, but still shows "${word}".`),
    settles,
    signal,
  );
  const isModeLeft = order !== 'def' && options.mode !== undefined && change['BootSourceOverrideMode'] === undefined;
  return isModeLeft ? `${shown} (its BMC has no boot mode to set)` : shown;
}

function noOverride(boot: unknown): Record<string, string> {
  const none = allowedWord(boot, 'BootSourceOverrideTarget', ['None']);
  const disabled = { BootSourceOverrideEnabled: 'Disabled' };
  return none === undefined ? disabled : { ...disabled, BootSourceOverrideTarget: none };
}

function override(
  boot: unknown,
  order: Exclude<BootOrder, 'def'>,
  { persistent, mode }: Parameters<NextBoot['set']>[1],
): Record<string, string> {
  const source = allowedWord(boot, 'BootSourceOverrideTarget', targets[order]);
  if (source === undefined) throw notOffered(`boot source ${order}`, offeredOrders(boot));
  const enabled = allowedWord(boot, 'BootSourceOverrideEnabled', [persistent ? 'Continuous' : 'Once']);
  if (enabled === undefined) {
    throw new Fault('invalid', `its BMC sets what boots ${persistent ? 'only for the next boot' : 'only for good'}.`);
  }
  const change = { BootSourceOverrideEnabled: enabled, BootSourceOverrideTarget: source };
  const hasModes = at(boot, 'BootSourceOverrideMode') !== undefined;
  // A service without modes is likely to know the newer one alone.
  if (mode === undefined || (mode === 'uefi' && !hasModes)) return change;
  const wanted = mode === 'uefi' ? 'UEFI' : 'Legacy';
  const allowed = allowedWord(boot, 'BootSourceOverrideMode', [wanted]);
  if (allowed === undefined || !hasModes) {
    throw notOffered(`boot mode ${mode}`, textsAt(boot, 'BootSourceOverrideMode@Redfish.AllowableValues'));
  }
  return { ...change, BootSourceOverrideMode: allowed };
}

function offeredOrders(boot: unknown): readonly string[] {
  const listed = textsAt(boot, 'BootSourceOverrideTarget@Redfish.AllowableValues');
  const orders = Object.entries(targets).filter(([, sources]) => sources.some((source) => listed.includes(source)));
  return [...orders.map(([order]) => order), 'def'];
}
