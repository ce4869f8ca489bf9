import { Fault } from '../core/errors.ts';
import { suggestion } from '../core/nearest.ts';
import { nodeTables, tableNamed } from '../database/tables.ts';
import data from './types.json' with { type: 'json' };

/** Where an attribute is stored. `where` narrows tables with several rows per object; `onlyIf` guards conditional mappings. */
export interface Mapping {
  readonly table: string;
  readonly column: string;
  readonly where?: Readonly<Record<string, string>>;
  readonly onlyIf?: readonly [attribute: string, word: string];
}

export interface Attribute {
  readonly name: string;
  readonly at: readonly Mapping[];
}

/** One way a stored column shows as an attribute; `rank` orders the mappings of one attribute. */
interface ColumnUse {
  readonly attribute: string;
  readonly rank: number;
  readonly mapping: Mapping;
}

export interface ObjectType {
  readonly name: string;
  readonly key: string;
  /** The table whose rows say which objects exist, and the column that names them. */
  readonly home: Mapping;
  readonly attributes: ReadonlyMap<string, Attribute>;
  readonly tables: readonly string[];
  readonly uses: ReadonlyMap<string, ReadonlyMap<string, readonly ColumnUse[]>>;
}

interface TypeEntry {
  key: string;
  attributes: Record<string, { at: { table: string; column: string }[] }>;
}

function makeType(name: string, entry: TypeEntry): ObjectType {
  const attributes = new Map<string, Attribute>();
  const uses = new Map<string, Map<string, ColumnUse[]>>();
  for (const [attribute, { at }] of Object.entries(entry.attributes)) {
    attributes.set(attribute, { name: attribute, at });
    for (const [rank, mapping] of at.entries()) {
      if (attribute === entry.key) continue;
      let columns = uses.get(mapping.table);
      if (!columns) uses.set(mapping.table, (columns = new Map()));
      const list = columns.get(mapping.column) ?? [];
      columns.set(mapping.column, [...list, { attribute, rank, mapping }]);
    }
  }
  const home = attributes.get(entry.key)?.at[0] ?? { table: name, column: entry.key };
  return { name, key: entry.key, home, attributes, tables: [...new Set([home.table, ...uses.keys()])], uses };
}

export const objectTypes: ReadonlyMap<string, ObjectType> = new Map(
  Object.entries(data as unknown as Record<string, TypeEntry>).map(([name, entry]) => [name, makeType(name, entry)]),
);

export function typeNamed(name: string): ObjectType {
  const type = objectTypes.get(name);
  if (!type)
    throw new Fault('invalid', `There is no object type "${name}".`, {
      reference: [`\nType '${name}' is not a valid xCAT object type.`],
    });
  return type;
}

export const nodeType = typeNamed('node');
export const groupType = typeNamed('group');

/** Nodes and groups depend on each other and on settings of the site; other objects only on their own tables. */
const clusterTables = [...nodeTables.map((table) => table.name), 'nodegroup', 'site'];

export const tablesBehind = (type: ObjectType): readonly string[] =>
  type === nodeType || type === groupType ? clusterTables : type.tables;

/** An attribute name split at its nic: `nicips.eth0` is the part for eth0 of `nicips`. */
export function splitNic(attribute: string): { base: string; nic: string | undefined } {
  const dot = attribute.indexOf('.');
  if (dot < 0 || !attribute.startsWith('nic')) return { base: attribute, nic: undefined };
  return { base: attribute.slice(0, dot), nic: attribute.slice(dot + 1) };
}

export const isNicAttribute = (type: ObjectType, base: string): boolean =>
  type.attributes.get(base)?.at[0]?.table === 'nics';

/** The attribute's definition; an unknown name is an error that says so. */
export function attributeNamed(type: ObjectType, name: string): Attribute {
  const { base, nic } = splitNic(name);
  const attribute = type.attributes.get(base);
  if (attribute && base !== type.key && (nic === undefined || isNicAttribute(type, base))) return attribute;
  if (type.attributes.has(name) && name !== type.key) return type.attributes.get(name)!;
  const others = type.attributes.keys().filter((each) => each !== type.key);
  const meant = suggestion(name, others);
  throw new Fault('invalid', `"${name}" is not an attribute of ${article(type.name)}.${meant}`, {
    missing: [name],
    reference: [`'${name}' is not a valid attribute name for an object type of '${type.name}'.`],
  });
}

const article = (word: string): string => (/^[aeiou]/.test(word) ? `an ${word}` : `a ${word}`);

export const isSecret = (mapping: Mapping): boolean => tableNamed(mapping.table).secret.has(mapping.column);

/** Whether a conditional mapping counts. One that asks for its own attribute asks for the value it would give. */
export function conditionHolds(
  { onlyIf }: Mapping,
  attribute: string,
  value: string | undefined,
  valueOf: (attribute: string) => string | undefined,
): boolean {
  if (!onlyIf) return true;
  const [condition, word] = onlyIf;
  return hasWord(condition === attribute ? value : valueOf(condition), word);
}

/** True if the value holds the word, as conditional mappings ask. */
export function hasWord(value: string | undefined, word: string): boolean {
  if (value === undefined) return false;
  return value === word || value.split(/[^A-Za-z0-9_]+/).includes(word);
}
