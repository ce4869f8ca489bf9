import { Fault } from '../../core/errors.ts';
import type { Mode } from '../../objects/assign.ts';
import type { Given } from '../../objects/define.ts';

/** What separates the items of an attribute that holds a list; such may be given and shown as arrays. */
export const listSeparator = (attribute: string): string | undefined => {
  if (['groups', 'members', 'postscripts', 'postbootscripts'].includes(attribute)) return ',';
  return attribute.startsWith('nicips.') ? '|' : undefined;
};

/** A JSON value as the text that is stored. */
export function valueText(attribute: string, value: unknown): string {
  // As a member of an object this name would mean something else than a value.
  if (attribute === '__proto__') throw new Fault('invalid', '"__proto__" cannot be a name here.');
  if (typeof value === 'string') return value;
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? '1' : '0';
  const separator = listSeparator(attribute);
  if (Array.isArray(value) && separator !== undefined && value.every((item) => typeof item === 'string')) {
    return value.join(separator);
  }
  const hint = separator === undefined ? 'give a string' : 'give a string or an array of strings';
  throw new Fault('invalid', `${attribute}: the value is ${Array.isArray(value) ? 'an array' : 'an object'}; ${hint}.`);
}

interface DefinitionBody {
  readonly attributes: Given;
  readonly options: Options;
}

interface Options {
  readonly append?: true;
  readonly remove?: true;
  readonly force?: true;
  readonly template?: string;
}

export const modeOf = ({ append, remove }: Options): Mode => (append ? 'append' : remove ? 'remove' : 'set');

/** Flags of the reference system's commands that `options` may carry; the ones that would name other objects are ignored. */
const ignoredFlags = new Set(['-o', '-l', '-t']);

/** The attributes and the options of a definition body. */
export function definitionBody(body: Readonly<Record<string, unknown>>): DefinitionBody {
  const { options: given = {}, ...members } = body;
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(members)) attributes[name] = valueText(name, value);
  return { attributes: { ...attributes, ...dynamicGroup(given) }, options: readOptions(given) };
}

function readOptions(given: unknown): Options {
  const options: { -readonly [K in keyof Options]: Options[K] } = {};
  for (const [flag, value] of optionEntries(given)) {
    if (flag === '-p' || flag === '--plus') options.append = true;
    else if (flag === '-m' || flag === '--minus') options.remove = true;
    else if (flag === '-f' || flag === '--force') options.force = true;
    else if (flag === '--template') options.template = value;
    else if (!ignoredFlags.has(flag) && !dynamicFlags.has(flag)) {
      throw new Fault(
        'invalid',
        `"${flag}" is not an option here; known are -p, -m, -f, --template, and for groups -d and -w.`,
      );
    }
  }
  if (options.append && options.remove) throw new Fault('invalid', 'The options -p and -m exclude each other.');
  return options;
}

const dynamicFlags = new Set(['-d', '--dynamic', '-w']);

/** `-d` and `-w selection`: the flags by which the reference system makes dynamic groups. */
function dynamicGroup(given: unknown): Given {
  const entries = optionEntries(given).filter(([flag]) => dynamicFlags.has(flag));
  if (entries.length === 0) return {};
  const selection = entries.find(([flag]) => flag === '-w')?.[1];
  return { grouptype: 'dynamic', ...(selection === undefined ? {} : { wherevals: selection }) };
}

function optionEntries(given: unknown): [string, string][] {
  if (given === null || typeof given !== 'object' || Array.isArray(given)) {
    throw new Fault('malformed', '"options" must be an object such as {"-f":""}.');
  }
  return Object.entries(given).map(([flag, value]) => {
    if (Array.isArray(value) && flag === '-w' && value.every((item) => typeof item === 'string'))
      return [flag, value.join('::')];
    if (value !== null && typeof value === 'object')
      throw new Fault('malformed', `options: the value of "${flag}" must be a string.`);
    return [flag, String(value ?? '')];
  });
}
