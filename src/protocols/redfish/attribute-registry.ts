import { Fault } from '../../core/errors.ts';
import { at, flagAt, type Json, listAt, localPath, numberAt, textAt } from './json.ts';
import { eachMember, findPieces } from './pieces.ts';

export const settingKinds = ['Enumeration', 'Integer', 'String', 'Boolean', 'Password'] as const;
export type SettingKind = (typeof settingKinds)[number];

/** What a registry says of a setting (DSP8010 "AttributeRegistry"). What it does not say is undefined. */
export interface RegisteredSetting {
  readonly name: string;
  /** What people are shown in the setup of the firmware. */
  readonly title: string | undefined;
  readonly kind: SettingKind | undefined;
  /** Of an enumeration. */
  readonly values: readonly RegisteredValue[];
  readonly lowest: number | undefined;
  readonly highest: number | undefined;
  readonly step: number | undefined;
  readonly shortest: number | undefined;
  readonly longest: number | undefined;
  readonly pattern: string | undefined;
  /** Why it cannot be set as things are. */
  readonly fixed: 'read-only' | 'immutable' | 'greyed out' | undefined;
  /** Every machine has one of its own. */
  readonly isOwn: boolean;
}

export interface RegisteredValue {
  readonly name: string;
  readonly title: string | undefined;
}

export interface AttributeRegistry {
  readonly settings: ReadonlyMap<string, RegisteredSetting>;
  /** By setting the others that decide whether it can be set. */
  readonly deciding: ReadonlyMap<string, ReadonlySet<string>>;
}

/** More than any firmware has. */
const mostSettings = 10_000;
const mostValues = 1_000;
const mostDeciding = 50_000;
/** What a member of the list is called, which is also what a request can carry. */
const nameForm = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/;

/** A name of a setting, if it can be one. */
export const settingName = (text: Json): string | undefined =>
  typeof text === 'string' && nameForm.test(text) ? text : undefined;

/** Reads a registry of one or two megabytes a piece at a time; what else it has besides settings is not looked at. */
export async function readRegistry(bytes: Buffer, from: string, signal: AbortSignal): Promise<AttributeRegistry> {
  const settings = new Map<string, RegisteredSetting>();
  const deciding = new Map<string, Set<string>>();
  let pairs = 0;
  const take = (member: Json, list: string): void => {
    if (list === 'Attributes') {
      const setting = settingIn(member);
      if (setting && settings.size < mostSettings) settings.set(setting.name, setting);
      return;
    }
    for (const [setting, by] of decidedIn(member)) {
      const known = deciding.get(setting) ?? new Set();
      if (known.has(by) || pairs++ >= mostDeciding) continue;
      deciding.set(setting, known.add(by));
    }
  };
  const pieces = await findPieces(bytes, from, { names: ['Attributes', 'Dependencies'], depth: 2 }, signal);
  await eachMember(bytes, from, pieces, take, signal);
  if (settings.size === 0) throw new Fault('garbled', `${from} lists no settings.`);
  return { settings, deciding };
}

function settingIn(member: Json): RegisteredSetting | undefined {
  const name = settingName(at(member, 'AttributeName'));
  if (name === undefined) return undefined;
  const kind = settingKinds.find((known) => known === textAt(member, 'Type'));
  return {
    name,
    title: textAt(member, 'DisplayName'),
    kind,
    values: kind === 'Enumeration' ? valuesIn(member) : [],
    lowest: numberAt(member, 'LowerBound'),
    highest: numberAt(member, 'UpperBound'),
    step: numberAt(member, 'ScalarIncrement'),
    shortest: numberAt(member, 'MinLength'),
    longest: numberAt(member, 'MaxLength'),
    pattern: textAt(member, 'ValueExpression'),
    fixed: fixedIn(member),
    isOwn: flagAt(member, 'IsSystemUniqueProperty') === true,
  };
}

function fixedIn(member: Json): RegisteredSetting['fixed'] {
  if (flagAt(member, 'Immutable') === true) return 'immutable';
  if (flagAt(member, 'ReadOnly') === true) return 'read-only';
  return flagAt(member, 'GrayOut') === true ? 'greyed out' : undefined;
}

/** Of more than there can be shown none are known, and all are left to the hardware. */
function valuesIn(member: Json): readonly RegisteredValue[] {
  const listed = listAt(member, 'Value');
  if (listed.length > mostValues) return [];
  return listed.flatMap((value) => {
    const name = textAt(value, 'ValueName');
    return name === undefined ? [] : [{ name, title: textAt(value, 'ValueDisplayName') }];
  });
}

const decisive = new Set(['ReadOnly', 'GrayOut', 'Hidden', 'Immutable']);

/** Whether a setting can be set may depend on the values of others (DSP8010 "Dependencies"). */
function decidedIn(member: Json): readonly (readonly [setting: string, by: string])[] {
  const dependency = at(member, 'Dependency');
  const setting = settingName(at(dependency, 'MapToAttribute')) ?? settingName(at(member, 'DependencyFor'));
  if (setting === undefined || !decisive.has(textAt(dependency, 'MapToProperty') ?? '')) return [];
  return listAt(dependency, 'MapFrom').flatMap((from) => {
    const by = settingName(at(from, 'MapFromAttribute'));
    return by === undefined ? [] : [[setting, by] as const];
  });
}

/** Where a registry file is on the service itself: in English if it can be chosen. Files elsewhere are not fetched. */
export function registryPlaces(file: Json): readonly string[] {
  const locations = listAt(file, 'Location').map((location) => ({
    language: textAt(location, 'Language') ?? '',
    // Older services of one maker wrap the path.
    path: localPath(at(location, 'Uri')) ?? localPath(at(location, 'Uri', 'extref')),
  }));
  const rank = (language: string): number => (/^en/i.test(language) ? 0 : 1);
  return locations.toSorted((a, b) => rank(a.language) - rank(b.language)).flatMap(({ path }) => path ?? []);
}

/** Whether a file of a collection is the registry of that name; `strictly`: by the version too. */
export function isRegistry(file: Json, name: string, strictly: boolean): boolean {
  const plain = (text: string): string => (strictly ? text : text.replace(/\.v?\d[\w.]*$/i, '')).toLowerCase();
  const wanted = plain(name);
  return [textAt(file, 'Registry'), textAt(file, 'Id')].some((given) => given !== undefined && plain(given) === wanted);
}
