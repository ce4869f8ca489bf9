import { byName } from '../by-name.ts';
import { type Client, path } from '../client.ts';
import { UsageError } from '../client-errors.ts';
import { emptyTree, readYaml, writeYaml, YamlError } from '../yaml.ts';

export type Attributes = Readonly<Record<string, string>>;
/** Objects by type and name. */
export type Definitions = Readonly<Record<string, Readonly<Record<string, Attributes>>>>;

/** What was read, and the revision it was read at: whoever writes tells it, so that nobody's later change is lost. */
export interface Seen {
  readonly definitions: Definitions;
  readonly revision: number;
}

/** What becomes known by itself is no part of a definition. */
const volatile = new Set(['status', 'statustime', 'appstatus', 'appstatustime', 'updatestatus', 'updatestatustime']);
/** The members of a group are told by the nodes. */
const told = (type: string, attribute: string): boolean =>
  (type === 'node' && volatile.has(attribute)) || (type === 'group' && attribute === 'members');
/** Their objects are records, not definitions. */
const records = new Set(['auditlog', 'eventlog']);

/** The definitions as they are stored: what nodes have of their groups is in the groups. */
export async function currentDefinitions(client: Client, only?: readonly string[]): Promise<Seen> {
  const types = ((await client.get('/definitions')) as readonly string[]).filter((type) => !records.has(type));
  const strange = only?.find((type) => !types.includes(type));
  if (strange !== undefined) throw new UsageError(`There is no type "${strange}"; there are ${types.join(', ')}.`);
  const all: Record<string, Record<string, Attributes>> = {};
  let revision = Number.MAX_SAFE_INTEGER;
  for (const type of only ?? types) {
    const { definitions, revision: readAt } = await definitionsOf(client, type, 'ALLRESOURCES');
    if (Object.keys(definitions[type]!).length > 0) Object.assign(all, definitions);
    revision = Math.min(revision, readAt);
  }
  return { definitions: all, revision };
}

export async function definitionsOf(client: Client, type: string, names: string): Promise<Seen> {
  const query = { values: 'own', hidden: type === 'node' ? '1' : undefined };
  const { body, headers } = await client.call('GET', path('definitions', type, names), { query });
  const found = body as Record<string, Attributes>;
  const objects = Object.create(null) as Record<string, Attributes>;
  for (const name of Object.keys(found).sort(byName)) {
    const attributes = Object.entries(found[name]!).filter(([each]) => !told(type, each));
    // A group of which nothing is known but its members is no more than a word at its nodes.
    if (attributes.length > 0) objects[name] = Object.fromEntries(attributes.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  return { definitions: { [type]: objects }, revision: Number(headers['x-muster-revision']) };
}

export const definitionText = (definitions: Definitions, format: 'yaml' | 'json'): string =>
  format === 'json' ? `${JSON.stringify(definitions, null, 2)}\n` : writeYaml(definitions);

/** Reads YAML or JSON, in which every value is a text, a number, true or false. */
export function readDefinitions(text: string, file: string): Definitions {
  let tree: unknown;
  try {
    tree = text.trimStart().startsWith('{') ? JSON.parse(text) : readYaml(text);
  } catch (error) {
    if (error instanceof YamlError || error instanceof SyntaxError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
  const all = Object.create(null) as Record<string, Record<string, Attributes>>;
  for (const [type, objects] of Object.entries(mapIn(tree, file, 'types'))) {
    all[type] = Object.create(null) as Record<string, Attributes>;
    for (const [name, attributes] of Object.entries(mapIn(objects, file, type))) {
      // Nodes and groups are named by ranges elsewhere; here a name is the name of one object.
      if (name === '' || /[,\s|~@^{}[\]+*!=%]/.test(name))
        throw new UsageError(`${file}: "${name}" is no name of one ${type}.`);
      all[type][name] = textsIn(mapIn(attributes, file, `${type} ${name}`), `${file}: ${type} ${name}`);
    }
  }
  return all;
}

function mapIn(value: unknown, file: string, what: string): Record<string, unknown> {
  // A name with nothing below it.
  if (value === '' || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value))
    throw new UsageError(`${file}: Below ${what} names with their values are expected.`);
  return value as Record<string, unknown>;
}

function textsIn(values: Record<string, unknown>, what: string): Attributes {
  const texts = emptyTree() as Record<string, string>;
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
      throw new UsageError(`${what}: ${name} must be a text; lists are texts with commas.`);
    texts[name] = String(value);
  }
  return texts;
}

export interface Definition {
  readonly type: string;
  readonly names: string;
  readonly attributes: Attributes;
}

export interface Plan {
  readonly set: readonly Definition[];
  readonly remove: readonly { readonly type: string; readonly names: string }[];
}

/** What has to be written so that the objects that are wanted become exactly as they are wanted. */
export function planOf(current: Definitions, wanted: Definitions, prune: boolean): Plan {
  const alike = new Map<string, { type: string; names: string[]; attributes: Attributes }>();
  const remove: { type: string; names: string }[] = [];
  for (const [type, objects] of Object.entries(wanted)) {
    const there = current[type] ?? {};
    for (const [name, attributes] of Object.entries(objects)) {
      const differing = difference(type, Object.hasOwn(there, name) ? there[name]! : {}, attributes);
      if (Object.keys(differing).length === 0) continue;
      const key = JSON.stringify([type, Object.entries(differing)]);
      const same = alike.get(key);
      if (same) same.names.push(name);
      else alike.set(key, { type, names: [name], attributes: differing });
    }
    const gone = Object.keys(there).filter((name) => !Object.hasOwn(objects, name));
    if (prune && type !== 'site' && gone.length > 0) remove.push({ type, names: gone.join(',') });
  }
  return { set: [...alike.values()].map(({ names, ...each }) => ({ ...each, names: names.join(',') })), remove };
}

function difference(type: string, before: Attributes, after: Attributes): Attributes {
  const differing: Record<string, string> = {};
  for (const [name, value] of Object.entries(after))
    if (!told(type, name) && (before[name] ?? '') !== value) differing[name] = value;
  // The site has many settings that come by themselves; a file need not have them all.
  if (type !== 'site') for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) differing[name] = '';
  return differing;
}
