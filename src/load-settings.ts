import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { type StaticDecode, type TSchema, Type } from 'typebox';
import { Assert, Check, DecodeUnsafe, Default } from 'typebox/value';
import { Fault } from './core/errors.ts';
import { suggestion } from './core/nearest.ts';
import type { Setting, Settings } from './core/settings.ts';

/** What was given on the command line: the file, and values by their settings, where `remotePort` is the one of remote.port. */
export type Flags = Readonly<Record<string, string | readonly string[] | undefined>> & { readonly config?: string };
export type Environment = Readonly<Record<string, string | undefined>>;

/** A setting with its names. */
interface Entry {
  /** In the file. */
  readonly name: string;
  readonly variable: string;
  /** On the command line, if it has one there. */
  readonly option: string | undefined;
  /** In Markdown. */
  readonly defaultText: string;
  readonly setting: Setting;
}

type Values = Map<string, unknown>;

/** Settings of the version before this one. They are read, and `warn` gets a sentence for each. */
interface Earlier {
  /** Names of settings that have no effect any more. */
  readonly retired: ReadonlySet<string>;
  readonly warn: (sentence: string) => unknown;
}

/** Every setting; the names of its variable and its option follow from where it is. */
export function entriesOf(settings: Settings, section = ''): Entry[] {
  return Object.entries(settings.properties).flatMap(([key, each]) => {
    const name = section + key;
    if ('properties' in each) return entriesOf(each, `${name}.`);
    const words = name.replaceAll('.', '-').replaceAll(/[A-Z]/g, '-$&');
    return {
      name,
      variable: each.variable ?? `MUSTER_${words.replaceAll('-', '_').toUpperCase()}`,
      option: each.flag && `--${words.toLowerCase()}`,
      defaultText: each.defaultText ?? `\`${[each.default].flat().join(', ')}\``,
      setting: each,
    };
  });
}

/** The values of settings. What comes later wins: defaults, configuration file, environment, command line. */
export function loadSettings<S extends Settings>(
  settings: S,
  flags: Flags,
  environment: Environment,
  earlier: Earlier = { retired: new Set(), warn: () => undefined },
): StaticDecode<S> {
  const entries = entriesOf(settings);
  const file = flags.config ?? environment['MUSTER_CONFIG'];
  const values: Values = new Map([
    ...(file ? fromFile(file, settings, entries, earlier) : []),
    ...fromTexts(entries, (entry) => {
      const variable = variableIn(environment, entry, earlier);
      return [environment[variable] || undefined, `Environment variable ${variable}`];
    }),
    ...fromTexts(entries, ({ name, option = '' }) => [option === '' ? undefined : flags[flagOf(name)], option]),
  ]);
  // Decode would first copy, convert and clean what is new, has its types and nothing unknown: a fiftieth of a start.
  const whole = Default(settings, nested(settings, values));
  Assert(settings, whole);
  return DecodeUnsafe({}, settings, whole) as StaticDecode<S>;
}

/** Variables that look like settings and are none: somebody may have misspelt one that protects something. */
export function unknownVariables(settings: Settings, environment: Environment): string[] {
  const known = entriesOf(settings).flatMap(({ variable, setting: { formerly } }) => [variable, formerly?.variable]);
  const variables = new Set<string | undefined>(['MUSTER_CONFIG', ...known]);
  return Object.keys(environment).filter((name) => name.startsWith('MUSTER_') && !variables.has(name));
}

const renamed = (where: string, former: string, name: string): string =>
  `${where}: ${former} is now called ${name}. The former name works in this version only: use the new one.`;

const givenTwice = (where: string, former: string, name: string): Fault =>
  new Fault('invalid', `${where}: ${former} is the former name of ${name}, and both are set: remove the former.`);

/** The variable that has the value of a setting. */
function variableIn(environment: Environment, { variable, setting: { formerly } }: Entry, { warn }: Earlier): string {
  if (!formerly || !environment[formerly.variable]) return variable;
  if (environment[variable]) throw givenTwice('Environment', formerly.variable, variable);
  warn(renamed('Environment', formerly.variable, variable));
  return formerly.variable;
}

/** What a file sets, by the names of today. */
function withNewNames(
  file: string,
  entries: readonly Entry[],
  values: readonly (readonly [string, unknown])[],
  { retired, warn }: Earlier,
): readonly (readonly [string, unknown])[] {
  const given = new Set(values.map(([name]) => name));
  return values.flatMap(([name, value]) => {
    if (retired.has(name)) {
      warn(`${file}: the setting ${name} has no effect any more. Remove it.`);
      return [];
    }
    const now = entries.find(({ setting }) => setting.formerly?.name === name)?.name;
    if (now === undefined) return [[name, value] as const];
    if (given.has(now)) throw givenTwice(file, name, now);
    warn(renamed(file, name, now));
    return [[now, value] as const];
  });
}

function fromFile(file: string, { properties }: Settings, entries: readonly Entry[], earlier: Earlier): Values {
  const flat = Object.entries(parseFile(file)).flatMap(([key, value]) => {
    if (!Object.hasOwn(properties, key) || !('properties' in properties[key]!)) return [[key, value] as const];
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Fault('invalid', `${file}: ${key} must be a table, written as [${key}].`);
    }
    return Object.entries(value).map(([inner, each]) => [`${key}.${inner}`, each] as const);
  });
  const settings = new Map(
    entries.flatMap(({ name, setting }) => (setting.onlyVariable ? [] : [[name, setting] as const])),
  );
  const base = dirname(resolve(file));
  return new Map(
    withNewNames(file, entries, flat, earlier).map(([name, value]) => {
      const setting = settings.get(name);
      if (!setting) {
        const names = [...settings.keys()].join(', ');
        throw new Fault(
          'invalid',
          `${file}: there is no setting ${name}. The settings are ${names}.${suggestion(name, settings.keys())}`,
        );
      }
      return [name, checked(setting, value, base, `${file}: ${name}`)];
    }),
  );
}

function parseFile(file: string): Record<string, unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault('invalid', `The configuration file ${file} cannot be read: ${(error as Error).message}.`);
  }
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // The rest of the message shows lines of the file, and with them passwords.
    const [reason] = error.message.split('\n', 1);
    const where = `line ${error.line}, column ${error.column}`;
    throw new Fault('invalid', `The configuration file ${file} is not valid TOML: ${where}: ${reason}`);
  }
}

type Text = string | readonly string[];

/** Values that are given as texts; `textOf` finds the text of a setting and says where it stands. */
function fromTexts(entries: readonly Entry[], textOf: (entry: Entry) => [Text | undefined, where: string]): Values {
  const values: Values = new Map();
  for (const entry of entries) {
    const { name, setting } = entry;
    const [text, where] = textOf(entry);
    if (text !== undefined) values.set(name, checked(setting, readText(setting, text), process.cwd(), where, text));
  }
  return values;
}

const flagOf = (name: string): string => name.replace(/\.(.)/, (_, letter: string) => letter.toUpperCase());

const booleans = new Map<unknown, boolean>([
  ['true', true],
  ['false', false],
]);

/** Lists are separated by commas; texts become numbers and the like where the schema wants these. */
function readText(schema: TSchema, text: Text): unknown {
  if (Type.IsArray(schema)) {
    const pieces = typeof text === 'string' ? text.split(',').map((piece) => piece.trim()) : text;
    return pieces.map((piece) => readText(schema.items, piece));
  }
  return [text, Number(text), booleans.get(text)].find((reading) => Check(schema, reading)) ?? text;
}

/** Errors say where a wrong value stands (`where`) and as what (`written`), since it has to be changed there; secrets are not shown. */
function checked(setting: Setting, value: unknown, base: string, where: string, written = value): unknown {
  const found = Type.IsArray(setting) && typeof value === 'string' ? [value] : value;
  if (Check(setting, found)) return withPaths(setting, found, base);
  const shown = setting.secret ? '' : `; it is ${JSON.stringify(written)}`;
  throw new Fault('invalid', `${where} must be ${setting.expected}${shown}.`);
}

function withPaths(schema: TSchema, value: unknown, base: string): unknown {
  if (Type.IsArray(schema) && Array.isArray(value)) return value.map((each) => withPaths(schema.items, each, base));
  return 'format' in schema && schema.format === 'path' && typeof value === 'string' ? resolve(base, value) : value;
}

const nested = ({ properties }: Settings, values: Values, section = ''): object =>
  Object.fromEntries(
    Object.entries(properties).map(([key, each]) => {
      const name = section + key;
      return [key, 'properties' in each ? nested(each, values, `${name}.`) : values.get(name)];
    }),
  );
