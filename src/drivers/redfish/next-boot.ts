import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { at, textAt, textsAt } from '../../protocols/redfish/json.ts';
import type { BootOrder, NextBoot } from '../capabilities.ts';
import { allowedWord, notOffered, patchOrSettings, settingsOf, systemFor, type Target, until } from './target.ts';

/** ComputerSystem.BootSource of the DMTF schemas: what stands for an order, best first. */
const targets: Readonly<Record<Exclude<BootOrder, 'def'>, readonly string[]>> = {
  net: ['Pxe', 'UefiHttp'],
  hd: ['Hdd'],
  cd: ['Cd', 'UsbCd'],
  floppy: ['Floppy'],
  setup: ['BiosSetup'],
};

const words: Readonly<Record<string, string>> = {
  Pxe: 'Network',
  UefiHttp: 'Network',
  Hdd: 'Hard Drive',
  Cd: 'CD/DVD',
  UsbCd: 'CD/DVD',
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

type Options = Parameters<NextBoot['set']>[1];
type Override = Readonly<Record<string, string>>;

export function redfishNextBoot(target: Target, defaults = usual): NextBoot {
  return {
    async get(signal) {
      const system = await systemFor(target, signal);
      const pending = isActive(system) ? undefined : await pendingOverride(target, system, signal);
      return overrideIn(pending ?? system, defaults);
    },
    set: (order, options, signal) => setOverride(target, order, options, defaults, signal),
  };
}

const isActive = ({ body }: Pick<Resource, 'body'>): boolean =>
  (textAt(body, 'Boot', 'BootSourceOverrideEnabled') ?? 'Disabled') !== 'Disabled';

function overrideIn(resource: Pick<Resource, 'body'>, { inactive, none }: DefaultWords): string {
  if (!isActive(resource)) return inactive;
  const source = textAt(resource.body, 'Boot', 'BootSourceOverrideTarget') ?? 'None';
  return source === 'None' ? none : (words[source] ?? source);
}

/** The settings of the system, if an override waits there, which the system itself does not show before its next boot. */
async function pendingOverride(target: Target, system: Resource, signal: AbortSignal): Promise<Resource | undefined> {
  const settings = await target.service.find(settingsOf(system), signal);
  return settings && isActive(settings) ? settings : undefined;
}

async function setOverride(
  target: Target,
  order: BootOrder,
  options: Options,
  defaults: DefaultWords,
  signal: AbortSignal,
): Promise<string> {
  const system = await systemFor(target, signal);
  const boot = at(system.body, 'Boot');
  if (boot === undefined || boot === null) throw new Fault('invalid', 'its BMC cannot set what boots next.');
  if (order === 'def') return takeBack(target, system, defaults, signal);
  const change = override(system, order, options);
  const changed = await patchOrSettings(target, system, { Boot: change }, signal);
  const isSet = (word: string): boolean => word === words[change['BootSourceOverrideTarget']!];
  const shown = await shownAt(target, changed, order, isSet, defaults, signal);
  const kept = shown.mode === undefined || change['BootSourceOverrideMode'] !== undefined;
  if (!kept) await keepMode(target, system, shown, change, signal);
  const isModeLeft = options.mode !== undefined && at(boot, 'BootSourceOverrideMode') === undefined;
  return isModeLeft ? `${shown.word} (its BMC has no boot mode to set)` : shown.word;
}

/** Also what waits in the settings of the system. */
async function takeBack(
  target: Target,
  system: Resource,
  defaults: DefaultWords,
  signal: AbortSignal,
): Promise<string> {
  const change = { Boot: noOverride(at(system.body, 'Boot')) };
  const isGone = (word: string): boolean => word === defaults.inactive || word === defaults.none;
  const pending = await pendingOverride(target, system, signal);
  const holders = [...(pending ? [pending] : []), ...(!pending || isActive(system) ? [system] : [])];
  let word = defaults.inactive;
  for (const holder of holders) {
    const changed = await patchOrSettings(target, holder, change, signal);
    word = (await shownAt(target, changed, 'def', isGone, defaults, signal)).word;
  }
  return word;
}

interface Shown {
  readonly resource: Resource;
  readonly word: string;
  readonly mode: string | undefined;
}

/** What is read back where it was changed. */
function shownAt(
  { service }: Target,
  path: string,
  order: BootOrder,
  isWanted: (word: string) => boolean,
  defaults: DefaultWords,
  signal: AbortSignal,
): Promise<Shown> {
  return until(
    async () => {
      const resource = await service.get(path, signal);
      return { resource, word: overrideIn(resource, defaults), mode: modeIn(resource) };
    },
    ({ word }) => isWanted(word),
    ({ word }) => new Fault('invalid', `its BMC accepted the setting ${order}, but still shows "${word}".`),
    settles,
    signal,
  );
}

const modeIn = ({ body }: Resource): string | undefined => textAt(body, 'Boot', 'BootSourceOverrideMode');

/** Some services fall back to Legacy when an override comes without a mode: the mode of before is sent with it again. */
async function keepMode(
  { service }: Target,
  system: Resource,
  { resource, mode }: Shown,
  change: Override,
  signal: AbortSignal,
): Promise<void> {
  const before = modeIn(system);
  if (before === undefined || mode === before || mode !== 'Legacy') return;
  await service.patch(resource, { Boot: { ...change, BootSourceOverrideMode: before } }, signal);
}

function noOverride(boot: unknown): Override {
  const none = allowedWord(boot, 'BootSourceOverrideTarget', ['None']);
  const disabled = { BootSourceOverrideEnabled: 'Disabled' };
  return none === undefined ? disabled : { ...disabled, BootSourceOverrideTarget: none };
}

/** Makers whose services need the mode with every override; others refuse a mode that is set already. */
const modeless = /super ?micro/i;

function override(system: Resource, order: Exclude<BootOrder, 'def'>, { persistent, mode }: Options): Override {
  const boot = at(system.body, 'Boot');
  const source = allowedWord(boot, 'BootSourceOverrideTarget', targets[order]);
  if (source === undefined) throw notOffered(`boot source ${order}`, offeredOrders(boot));
  const enabled = allowedWord(boot, 'BootSourceOverrideEnabled', [persistent ? 'Continuous' : 'Once']);
  if (enabled === undefined) {
    throw new Fault('invalid', `its BMC sets what boots ${persistent ? 'only for the next boot' : 'only for good'}.`);
  }
  const change = { BootSourceOverrideEnabled: enabled, BootSourceOverrideTarget: source };
  const now = modeIn(system);
  const needsMode = now !== undefined && modeless.test(textAt(system.body, 'Manufacturer') ?? '');
  const wanted = mode === undefined ? (needsMode ? now : undefined) : mode === 'uefi' ? 'UEFI' : 'Legacy';
  const hasModes = at(boot, 'BootSourceOverrideMode') !== undefined;
  // A service without modes is likely to know the newer one alone.
  if (wanted === undefined || (wanted === 'UEFI' && !hasModes)) return change;
  const allowed = allowedWord(boot, 'BootSourceOverrideMode', [wanted]);
  if (allowed === undefined || !hasModes) {
    // Nobody asked for a mode: the present one is not among those that can be set, and stays.
    if (mode === undefined) return change;
    throw notOffered(`boot mode ${mode}`, textsAt(boot, 'BootSourceOverrideMode@Redfish.AllowableValues'));
  }
  return allowed === now && !needsMode ? change : { ...change, BootSourceOverrideMode: allowed };
}

function offeredOrders(boot: unknown): readonly string[] {
  const listed = textsAt(boot, 'BootSourceOverrideTarget@Redfish.AllowableValues');
  const orders = Object.entries(targets).filter(([, sources]) => sources.some((source) => listed.includes(source)));
  return [...orders.map(([order]) => order), 'def'];
}
