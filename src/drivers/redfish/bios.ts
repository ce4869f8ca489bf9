import { Fault } from '../../core/errors.ts';
import type { Remark } from '../../protocols/redfish/faults.ts';
import { Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { at, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { pause } from '../../protocols/redfish/abort.ts';
import type { Bios, BiosReading, BiosState, BiosTime, Texts } from '../bios.ts';
import { biosNotes, type BiosPlace, biosPlace, isSame, shownTexts } from './bios-place.ts';
import type { KnownRegistry } from './bios-registries.ts';
import { allowedText, type BiosValue, checkedValues, mostProblems, unknownSetting } from './bios-values.ts';
import { actionOf, notOffered, type Target } from './target.ts';

/** Services that hand a setting on show it a little later. */
const settles: readonly number[] = [0, 500, 1_500, 3_000, 5_000];

export function redfishBios(target: Target): Bios {
  return {
    read: (reading, signal) => readBios(target, reading, signal),
    set: (values, when, signal) => setBios(target, values, when, signal),
    reset: (signal) => resetBios(target, signal),
  };
}

async function readBios(
  target: Target,
  { names, details = false }: BiosReading,
  signal: AbortSignal,
): Promise<BiosState> {
  const place = await biosPlace(target, signal);
  const registry = details ? await registryFor(target, place, signal) : undefined;
  const unknown = names?.filter((name) => !place.current.has(name) && !registry?.settings.has(name)) ?? [];
  if (unknown.length > 0)
    throw new Fault(
      'invalid',
      await Promise.all(unknown.slice(0, mostProblems).map((name) => unknownHere(target, place, name, signal))),
    );
  const state = stateOf(place, names);
  if (!details) return state;
  if (!registry) throw new Fault('invalid', 'its BMC does not say what the settings of its BIOS take.');
  const settable = [...registry.settings.values()].filter(
    ({ name, kind, fixed }) =>
      place.current.has(name) && kind !== 'Password' && fixed === undefined && (names?.includes(name) ?? true),
  );
  return {
    ...state,
    allowed: Object.fromEntries(settable.map((setting) => [setting.name, allowedText(setting)])),
    own: settable.filter(({ isOwn }) => isOwn).map(({ name }) => name),
  };
}

function stateOf(place: BiosPlace, names?: readonly string[]): BiosState {
  const wanted = names && new Set(names);
  const chosen = (values: ReadonlyMap<string, BiosValue>): Texts =>
    shownTexts([...values].filter(([name]) => wanted?.has(name) ?? true));
  return { current: chosen(place.current), pending: chosen(place.pending), notes: biosNotes(place) };
}

/** With what the registry calls it, if that is at hand. */
async function unknownHere(target: Target, place: BiosPlace, name: string, signal: AbortSignal): Promise<string> {
  const registry = await registryFor(target, place, signal).catch((error: unknown) => {
    if (error instanceof Fault && !signal.aborted) return undefined;
    throw error;
  });
  return unknownSetting(name, place.current.keys(), registry);
}

const registryName = ({ bios, settings }: BiosPlace): string | undefined =>
  textAt(bios.body, 'AttributeRegistry') ?? textAt(settings?.body, 'AttributeRegistry');

async function registryFor(
  { service, registries }: Target,
  place: BiosPlace,
  signal: AbortSignal,
): Promise<KnownRegistry | undefined> {
  const name = registryName(place);
  return name === undefined ? undefined : registries.find(service, { name, system: place.system }, signal);
}

async function setBios(target: Target, wanted: Texts, when: BiosTime, signal: AbortSignal): Promise<BiosState> {
  const place = await biosPlace(target, signal);
  const values = await accepted(target, place, wanted, signal);
  const changes = [...values].filter(([name, value]) => !isThere(place, name, value));
  const names = [...values.keys()];
  if (changes.length === 0) return stateOf(place, names);
  const holder = place.settings ?? place.bios;
  const body = { Attributes: Object.fromEntries(changes), ...applyTime(place.bios, when) };
  let remarks: readonly Remark[];
  try {
    remarks = await target.service.submit(holder, body, signal);
  } catch (error) {
    if (!(error instanceof Refusal && error.ofRequest)) throw error;
    // Some services take a part of what they refuse.
    const after = await biosPlace(target, signal);
    const taken = changes.filter(([name, value]) => isThere(after, name, value));
    throw partly(changes, taken, error.remarks, error.message);
  }
  const said = new Set(remarks.flatMap(({ about }) => about));
  const expected = changes.filter(([name]) => !said.has(name));
  const after = await settled(target, expected, signal);
  const taken = changes.filter(([name, value]) => isThere(after, name, value));
  if (taken.length < changes.length) throw partly(changes, taken, remarks, undefined, after);
  return stateOf(after, names);
}

/** What the machine will run with once it has restarted. */
const nextOf = ({ waiting, current }: BiosPlace, name: string): BiosValue | undefined =>
  waiting.get(name) ?? current.get(name);

const isThere = (place: BiosPlace, name: string, value: BiosValue): boolean => isSame(nextOf(place, name), value);

/** As the request carries them. What a registry that is kept refuses is looked at in the one that the machine itself has now. */
async function accepted(
  target: Target,
  place: BiosPlace,
  wanted: Texts,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, BiosValue>> {
  let registry = await registryFor(target, place, signal);
  let checked = checkedValues(wanted, place.current, registry);
  if (checked.problems.length > 0 && registry?.isFresh === false) {
    const which = { name: registryName(place)!, system: place.system };
    registry = await target.registries.read(target.service, which, signal);
    checked = checkedValues(wanted, place.current, registry);
  }
  if (checked.problems.length > 0) throw new Fault('invalid', [...checked.problems, 'Nothing was changed.']);
  return checked.values;
}

/** DSP0266 "Settings resource": services that list times want to hear one; others have only their own. */
function applyTime({ body }: Resource, when: BiosTime): object {
  const offered = textsAt(body, '@Redfish.Settings', 'SupportedApplyTimes');
  const time = when === 'now' ? 'Immediate' : 'OnReset';
  if (offered.includes(time)) return { '@Redfish.SettingsApplyTime': { ApplyTime: time } };
  if (when === 'now')
    throw new Fault(
      'invalid',
      `its BIOS changes no settings before it restarts; leave "now" out. Nothing was changed.`,
    );
  if (offered.length > 0) throw notOffered('change of BIOS settings at the next restart', offered);
  return {};
}

async function settled(
  target: Target,
  changes: readonly (readonly [string, BiosValue])[],
  signal: AbortSignal,
): Promise<BiosPlace> {
  for (let looks = 0; ; looks++) {
    await pause(settles[looks]!, signal);
    const place = await biosPlace(target, signal);
    if (looks === settles.length - 1 || changes.every(([name, value]) => isThere(place, name, value))) return place;
  }
}

const mostNamed = 50;

/** By setting, in the words of the service; `whole`: what it says of all. */
function partly(
  changes: readonly (readonly [string, BiosValue])[],
  taken: readonly (readonly [string, BiosValue])[],
  remarks: readonly Remark[],
  whole: string | undefined,
  after?: BiosPlace,
): Fault {
  const done = new Set(taken.map(([name]) => name));
  const refused = changes.map(([name]) => name).filter((name) => !done.has(name));
  const named = refused.slice(0, mostNamed).map((name) => {
    const said = remarks.filter(({ about }) => about.includes(name)).map(({ text }) => text);
    if (said.length > 0) return `its BIOS did not take ${name}: ${[...new Set(said)].join(' ')}`;
    const shown = after && String(nextOf(after, name) ?? '');
    return shown === undefined ? undefined : `its BMC accepted ${name}, but still shows "${shown}".`;
  });
  const sentences = named.filter((sentence) => sentence !== undefined);
  const others = sentences.length < Math.min(refused.length, mostNamed) && whole !== undefined ? [whole] : [];
  const list = taken
    .slice(0, mostNamed)
    .map(([name]) => name)
    .join(', ');
  const rest = taken.length === 0 ? 'Nothing was changed.' : `It took ${list}, which waits for the next restart.`;
  return new Fault('invalid', [...others, ...sentences, rest]);
}

async function resetBios(target: Target, signal: AbortSignal): Promise<string> {
  const { bios } = await biosPlace(target, signal);
  const action = await actionOf(target.service, bios, 'Bios.ResetBios', 'ResetType', signal);
  if (!action) throw new Fault('invalid', 'its BMC cannot reset the settings of its BIOS to their defaults.');
  await target.service.order(action.target, resetBody(bios, action.allowed), signal);
  return 'All settings return to their defaults when the machine restarts.';
}

/** The standard has no parameter; services of some makers want one, and not all of them list its values. */
function resetBody({ body }: Resource, allowed: readonly string[] | undefined): object {
  const type = allowed?.find((word) => /^(default|reset)$/i.test(word)) ?? allowed?.[0];
  if (type !== undefined) return { ResetType: type };
  return at(body, 'Oem', 'Hpe') === undefined ? {} : { ResetType: 'default' };
}
