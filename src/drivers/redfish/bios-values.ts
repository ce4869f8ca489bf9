import { Fault } from '../../core/errors.ts';
import { nearest } from '../../core/nearest.ts';
import { compilePattern } from '../../core/patterns.ts';
import type { AttributeRegistry, RegisteredSetting } from '../../protocols/redfish/attribute-registry.ts';

/** As a request carries it. */
export type BiosValue = string | number | boolean;

export interface CheckedValues {
  readonly values: ReadonlyMap<string, BiosValue>;
  /** What is wrong, one sentence for each setting. */
  readonly problems: readonly string[];
}

/** Values that are shown in a sentence. */
const mostShown = 12;
const longestShown = 80;
/** Wrong settings that one answer names. */
export const mostProblems = 20;
/** A value in a request; those of firmware are far shorter. */
const longestValue = 4_096;

/** Checks what is wanted against what the machine says of its settings; `current` is what it has. */
export function checkedValues(
  wanted: Readonly<Record<string, string>>,
  current: ReadonlyMap<string, BiosValue>,
  registry: AttributeRegistry | undefined,
): CheckedValues {
  const values = new Map<string, BiosValue>();
  const problems: string[] = [];
  for (const [name, text] of Object.entries(wanted)) {
    const setting = registry?.settings.get(name);
    const checked =
      text.length > longestValue
        ? problem(`the value of ${name} is longer than ${longestValue} characters.`)
        : setting
          ? checkedValue(setting, text, (by) => deciders(registry, name).some((one) => one !== name && by(one)), wanted)
          : unregistered(name, text, current, registry);
    if (typeof checked === 'object') problems.push(checked.problem);
    else values.set(name, checked);
    // Each look for a name that may have been meant goes through all of them.
    if (problems.length === mostProblems) break;
  }
  return { values, problems };
}

interface Problem {
  readonly problem: string;
}

const problem = (sentence: string): Problem => ({ problem: sentence });

const deciders = (registry: AttributeRegistry | undefined, name: string): readonly string[] => [
  ...(registry?.deciding.get(name) ?? []),
];

/** What the registry does not know, or where there is none: as the machine shows it, and not at all if it does not. */
function unregistered(
  name: string,
  text: string,
  current: ReadonlyMap<string, BiosValue>,
  registry: AttributeRegistry | undefined,
): BiosValue | Problem {
  const shown = current.get(name);
  if (shown === undefined) return problem(unknownSetting(name, current.keys(), registry));
  if (typeof shown === 'string') return text;
  const value = typeof shown === 'number' ? integerIn(text) : booleanIn(text);
  if (value !== undefined) return value;
  return problem(
    `${name} cannot be "${cut(text)}": it takes ${typeof shown === 'number' ? 'a number' : 'true or false'}.`,
  );
}

export function unknownSetting(
  name: string,
  names: Iterable<string>,
  registry: Pick<AttributeRegistry, 'settings'> | undefined,
): string {
  const settings = [...(registry?.settings.values() ?? [])];
  const titled = settings.find(({ title }) => title?.toLowerCase() === name.toLowerCase())?.name;
  const meant = titled ?? nearest(name, [...names, ...settings.map((setting) => setting.name)]);
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  return `its BIOS has no setting "${cut(name)}".${hint}`;
}

function checkedValue(
  setting: RegisteredSetting,
  text: string,
  isDecidedBy: (test: (name: string) => boolean) => boolean,
  wanted: Readonly<Record<string, string>>,
): BiosValue | Problem {
  const { name, kind, fixed } = setting;
  if (kind === 'Password')
    return problem(`${name} is a password, and muster sets no passwords of a BIOS; set it in its setup.`);
  // Another setting of the same request may make it one that can be set: that is left to the machine.
  const isLeft = fixed !== 'immutable' && isDecidedBy((other) => Object.hasOwn(wanted, other));
  if (fixed !== undefined && !isLeft) return problem(`${name} cannot be set: its BIOS says that it is ${fixed}.`);
  const value = typedValue(setting, text);
  if (value !== undefined) return value;
  const values = setting.values.map((one) => one.name);
  const same = setting.values.find(({ title }) => title?.toLowerCase() === text.toLowerCase())?.name;
  const meant = kind === 'Enumeration' ? (same ?? nearest(text, values)) : undefined;
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
  return problem(`${name} cannot be "${cut(text)}": it takes ${allowedText(setting)}.${hint}`);
}

/** Undefined: it does not fit. */
function typedValue(setting: RegisteredSetting, text: string): BiosValue | undefined {
  const { kind, values, lowest, highest, step, shortest, longest } = setting;
  if (kind === 'Boolean') return booleanIn(text);
  if (kind === 'Enumeration') return values.length === 0 || values.some(({ name }) => name === text) ? text : undefined;
  if (kind === 'Integer') {
    const value = integerIn(text);
    if (value === undefined || value < (lowest ?? value) || value > (highest ?? value)) return undefined;
    return step !== undefined && step > 1 && (value - (lowest ?? 0)) % step !== 0 ? undefined : value;
  }
  if (text.length < (shortest ?? 0) || text.length > (longest ?? text.length)) return undefined;
  return matches(setting, text) ? text : undefined;
}

/** A pattern that is broken or too large says nothing: its text is left to the machine. */
function matches({ name, pattern }: RegisteredSetting, text: string): boolean {
  if (pattern === undefined) return true;
  try {
    return compilePattern(pattern, name).test(text);
  } catch (error) {
    if (error instanceof Fault) return true;
    throw error;
  }
}

const integerIn = (text: string): number | undefined =>
  /^-?\d{1,15}$/.test(text.trim()) ? Number(text.trim()) : undefined;

const booleanIn = (text: string): boolean | undefined =>
  /^(?:true|false)$/i.test(text) ? text.toLowerCase() === 'true' : undefined;

/** What a setting takes, in words. */
export function allowedText({
  kind,
  values,
  lowest,
  highest,
  step,
  shortest,
  longest,
  pattern,
}: RegisteredSetting): string {
  if (kind === 'Boolean') return 'true or false';
  if (kind === 'Enumeration') {
    if (values.length === 0) return 'one of its values, which its BIOS does not list';
    const more = values.length > mostShown ? ` and ${values.length - mostShown} more` : '';
    return values.slice(0, mostShown).map(shownValue).join(', ') + more;
  }
  if (kind === 'Integer') {
    const steps = step !== undefined && step > 1 ? ` in steps of ${step}` : '';
    if (lowest === undefined && highest === undefined) return `a whole number${steps}`;
    return `a whole number from ${lowest ?? 'any'} to ${highest ?? 'any'}${steps}`;
  }
  const [least, most] = [shortest ?? 0, longest];
  const length =
    most === undefined ? (least > 0 ? ` of at least ${least} characters` : '') : ` of ${least} to ${most} characters`;
  return `a text${length}${pattern === undefined ? '' : ` that matches ${cut(pattern)}`}`;
}

/** With what people are shown in the setup, where it says more. */
function shownValue({ name, title }: { readonly name: string; readonly title: string | undefined }): string {
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return title === undefined || plain(title) === plain(name) ? cut(name) : `${cut(name)} (${cut(title)})`;
}

const cut = (text: string): string => (text.length > longestShown ? `${text.slice(0, longestShown)}...` : text);
