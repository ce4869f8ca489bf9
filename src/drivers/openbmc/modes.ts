import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { at, flagAt, linkAt, listAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { present } from '../redfish/labels.ts';
import type { SpReader, SpWriter } from '../redfish/sp-attributes.ts';
import { chassisFor, managerFor, patchOrSettings, systemFor, type Target } from '../redfish/target.ts';

/** OpenBMC's boot modes appear in Redfish as what boots next. */
const bootModes: Readonly<Record<string, string>> = { regular: 'None', safe: 'Diags', setup: 'BiosSetup' };
const thermalModes: readonly string[] = ['default', 'custom', 'heavy_io', 'max_base_fan_floor'];

export const bootMode: SpReader = async (target, signal) => {
  const boot = at((await systemFor(target, signal)).body, 'Boot');
  const active = (textAt(boot, 'BootSourceOverrideEnabled') ?? 'Disabled') !== 'Disabled';
  const mode = active ? wordFor(bootModes, textAt(boot, 'BootSourceOverrideTarget')) : 'regular';
  return present(['BMC BootMode', mode !== undefined && Object.hasOwn(bootModes, mode) ? mode : 'regular']);
};

export const setBootMode: SpWriter = async (target, { bootmode = '' }, signal) => {
  const source = valueFor(bootModes, 'bootmode', bootmode);
  const enabled = source === 'None' ? 'Disabled' : 'Continuous';
  const change = { Boot: { BootSourceOverrideEnabled: enabled, BootSourceOverrideTarget: source } };
  await patchOrSettings(target, await systemFor(target, signal), change, signal);
};

const profile = ['Oem', 'OpenBmc', 'Fan'] as const;

export const thermalMode: SpReader = async (target, signal) => {
  const manager = await managerFor(target, signal);
  return present(['BMC ThermalMode', textAt(manager?.body, ...profile, 'Profile')?.toLowerCase()]);
};

export const setThermalMode: SpWriter = async (target, { thermalmode = '' }, signal) => {
  const manager = await managerFor(target, signal);
  if (!manager || textAt(manager.body, ...profile, 'Profile') === undefined)
    throw new Fault('invalid', 'its BMC has no thermal modes.');
  const offered = textsAt(manager.body, ...profile, 'Profile@Redfish.AllowableValues');
  const known = offered.length > 0 ? offered : thermalModes.map((mode) => mode.toUpperCase());
  const words = Object.fromEntries(known.map((mode) => [mode.toLowerCase(), mode]));
  const change = { Oem: { OpenBmc: { Fan: { Profile: valueFor(words, 'thermalmode', thermalmode) } } } };
  await target.service.patch(manager, change, signal);
};

const redundancyStates: Readonly<Record<string, string>> = { enabled: 'Enabled', disabled: 'Disabled' };

/** Where a chassis reports its power supplies: the older resource says whether they are, the newer only how they do. */
async function redundancyOf(target: Target, signal: AbortSignal): Promise<Redundancy> {
  for (const { body } of await chassisFor(target, signal)) {
    const power = await target.service.find(linkAt(body, 'Power'), signal);
    const enabled = flagAt(listAt(power?.body, 'Redundancy')[0], 'RedundancyEnabled');
    if (power && enabled !== undefined) return { power, state: enabled ? 'enabled' : 'disabled' };
    const subsystem = await target.service.find(linkAt(body, 'PowerSubsystem'), signal);
    const state = textAt(listAt(subsystem?.body, 'PowerSupplyRedundancy')[0], 'Status', 'State');
    if (state !== undefined) return { power: undefined, state: wordFor(redundancyStates, state) };
  }
  return { power: undefined, state: undefined };
}

interface Redundancy {
  /** Where it can be set. */
  readonly power: Resource | undefined;
  readonly state: string | undefined;
}

export const supplyRedundancy: SpReader = async (target, signal) =>
  present(['BMC PowerSupplyRedundancy', (await redundancyOf(target, signal)).state]);

export const setSupplyRedundancy: SpWriter = async (target, { powersupplyredundancy = '' }, signal) => {
  const enabled = valueFor(redundancyStates, 'powersupplyredundancy', powersupplyredundancy) === 'Enabled';
  const { power } = await redundancyOf(target, signal);
  if (!power) throw new Fault('invalid', 'its BMC does not allow powersupplyredundancy to be set.');
  await target.service.patch(power, { Redundancy: [{ RedundancyEnabled: enabled }] }, signal);
};

/** OpenBMC's words with the Redfish values they stand for. */
type Words = Readonly<Record<string, string>>;

/** The word for a value, or the value itself. */
export const wordFor = (words: Words, value: string | undefined): string | undefined =>
  value === undefined ? undefined : (Object.keys(words).find((word) => words[word] === value) ?? value);

export function valueFor(words: Words, attribute: string, word: string): string {
  const value = Object.hasOwn(words, word) ? words[word] : undefined;
  if (value === undefined) {
    throw new Fault('invalid', `${attribute} is one of ${Object.keys(words).join(', ')}, not "${word}".`);
  }
  return value;
}
