import { agreed } from '../ask.ts';
import { type Client, path } from '../client.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../errors.ts';
import { readYaml, yamlText } from '../formats.ts';
import { byName } from '../lines.ts';
import { type RowChange, writeRows } from './row-diff.ts';

export type Attributes = Readonly<Record<string, string>>;
/** Objects by type and name. */
export type Definitions = Readonly<Record<string, Readonly<Record<string, Attributes>>>>;

/** What was read, and the revision it was read at: whoever writes sends it along, so that nobody's later change is lost. */
export interface Seen {
  readonly definitions: Definitions;
  readonly revision: number;
}

/** What becomes known by itself is no part of a definition. */
const volatile = new Set(['status', 'statustime', 'appstatus', 'appstatustime', 'updatestatus', 'updatestatustime']);
/** What the server finds out itself; the members of a group are stored at the nodes. */
const isDerived = (type: string, attribute: string): boolean =>
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
    const attributes = Object.entries(found[name]!).filter(([each]) => !isDerived(type, each));
    // A group of which nothing is known but its members is no more than a word at its nodes.
    if (attributes.length > 0) objects[name] = Object.fromEntries(attributes.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  return { definitions: { [type]: objects }, revision: Number(headers['x-muster-revision']) };
}

export const definitionText = (definitions: Definitions, format: 'yaml' | 'json'): Promise<string> =>
  format === 'json' ? Promise.resolve(`${JSON.stringify(definitions, null, 2)}\n`) : yamlText(definitions);

/** Reads YAML or JSON. A value is a text, a number, true or false, or a list of these, which is stored with commas between them. */
export async function readDefinitions(text: string, file: string): Promise<Definitions> {
  const tree = await readTree(text, file);
  const all = Object.create(null) as Record<string, Record<string, Attributes>>;
  for (const [type, objects] of membersOf(tree, file, 'the top')) {
    all[type] = Object.create(null) as Record<string, Attributes>;
    for (const [name, attributes] of membersOf(objects, file, type)) {
      // Nodes and groups are named by ranges elsewhere; here a name is the name of one object.
      if (name === '' || /[,\s|~@^{}[\]+*!=%]/.test(name))
        throw new UsageError(`${file}: "${name}" is not the name of one ${type}.`);
      const texts = Object.create(null) as Record<string, string>;
      for (const [attribute, value] of membersOf(attributes, file, `${type} ${name}`))
        texts[attribute] = valueText(value, `${file}: ${type} ${name}: ${attribute}`);
      all[type][name] = texts;
    }
  }
  return all;
}

/** YAML or JSON, of any shape. */
export const readTree = async (text: string, file: string): Promise<unknown> =>
  text.trimStart().startsWith('{') ? readJson(text, file) : readYaml(text, file);

function readJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`${file}: ${(error as Error).message}`);
  }
}

/** What stands below a name; nothing may stand there too. */
export function membersOf(value: unknown, file: string, what: string): [name: string, value: unknown][] {
  if (value === '' || value === null || value === undefined) return [];
  const members = value instanceof Map ? [...value] : typeof value === 'object' ? Object.entries(value) : undefined;
  if (Array.isArray(value) || !members?.every(([name]) => typeof name === 'string'))
    throw new UsageError(`${file}: Below ${what} names with their values are expected.`);
  return members as [string, unknown][];
}

function valueText(value: unknown, what: string): string {
  if (Array.isArray(value)) return value.map((each: unknown) => valueText(each, what)).join(',');
  if (value === null) return '';
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw new UsageError(`${what} must be a text or a list of texts.`);
  return String(value);
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
    if (!isDerived(type, name) && (before[name] ?? '') !== value) differing[name] = value;
  // The site has many settings that come by themselves; a file need not have them all.
  if (type !== 'site') for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) differing[name] = '';
  return differing;
}

export interface Writing {
  /** The revision that the plan was made on. */
  readonly since: number;
  readonly question: string;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** Shows what a plan changes, asks a person, and writes it in one change, unless somebody else has changed one of the objects since. */
export async function writePlan(
  invocation: Invocation,
  { set, remove }: Plan,
  { since, question, dryRun, yes }: Writing,
): Promise<'same' | 'shown' | 'refused' | 'written'> {
  const { client, stdout } = invocation;
  const body = { definitions: set, since, ...(remove.length > 0 ? { remove } : {}) };
  const isEmpty = set.length + remove.length === 0;
  const tried = isEmpty ? undefined : await client.call('PUT', '/definitions', { body, query: { dryRun: '1' } });
  const rows = (tried?.body as { changes: readonly RowChange[] } | undefined)?.changes ?? [];
  if (rows.length === 0) {
    stdout.line('Nothing differs.');
    return 'same';
  }
  if (dryRun || (invocation.terminal.stdout && !yes)) await writeRows(invocation, rows);
  if (dryRun) return 'shown';
  if (!(await agreed(invocation, `${question} (${rows.length} rows)`, yes))) {
    stdout.line('Nothing was changed.');
    return 'refused';
  }
  const { headers } = await client.call('PUT', '/definitions', { body });
  stdout.line(`Written by change ${headers['x-muster-revision']}.`);
  return 'written';
}
