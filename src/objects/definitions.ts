import { redacted } from '../database/draft.ts';
import { isCalledSecret } from '../database/secret-columns.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { SortedMap } from '../database/sorted-map.ts';
import { isEnabled, keyOf, type Row, rowsOfNodePrefix, type Table, tableNamed } from '../database/tables.ts';
import { effectiveReader, siteValue } from './effective.ts';
import { groupExists, groupMembers, groupNames, visibleNodes } from './groups.ts';
import { type Attributes, nicAttributes, nodeAttributes, selectedAttributes } from './node-attributes.ts';
import {
  attributeNamed,
  conditionHolds,
  isNicAttribute,
  type Mapping,
  nodeType,
  type ObjectType,
  splitNic,
} from './types.ts';

/** The one object of type site. */
export const siteObject = 'clustersite';

export function objectNames(snapshot: Snapshot, type: ObjectType): readonly string[] {
  if (type.name === 'node') return visibleNodes(snapshot);
  if (type.name === 'group') return groupNames(snapshot);
  if (type.name === 'site') return [siteObject];
  const names = new Set<string>();
  for (const row of snapshot.rows(type.home.table).values()) {
    const name = row[type.home.column];
    if (name && isEnabled(row)) names.add(name);
  }
  return [...names].sort();
}

export function objectExists(snapshot: Snapshot, type: ObjectType, name: string): boolean {
  if (type.name === 'node') return effectiveReader(snapshot).nodeRow(name) !== undefined;
  if (type.name === 'group') return groupExists(snapshot, name);
  if (type.name === 'site') return name === siteObject;
  const row = rowOf(snapshot, type, { table: type.home.table, column: '' }, name);
  return row !== undefined && isEnabled(row);
}

/** All set attributes of an existing object, sorted by name, secrets hidden. */
export function objectAttributes(snapshot: Snapshot, type: ObjectType, name: string): Attributes {
  if (type.name === 'node') return nodeAttributes(effectiveReader(snapshot), name);
  if (type.name === 'site') return siteAttributes(snapshot);
  const found: Record<string, string> = {};
  for (const attribute of type.attributes.keys()) {
    if (attribute === type.key) continue;
    const value = storedAttribute(snapshot, type, name, attribute);
    // A group without members is shown to have none.
    const shownEmpty = type.name === 'group' && attribute === 'members';
    if (value === undefined || (value === '' && !shownEmpty)) continue;
    if (isNicAttribute(type, attribute)) Object.assign(found, nicAttributes(attribute, value));
    else found[attribute] = value;
  }
  return found;
}

/** The named attributes, unset ones as empty text; of the site only those that are set. */
export function chosenAttributes(
  snapshot: Snapshot,
  type: ObjectType,
  name: string,
  chosen: readonly string[],
): Attributes {
  if (type.name === 'node') return selectedAttributes(effectiveReader(snapshot), name, chosen);
  const found: Record<string, string> = {};
  for (const attribute of chosen) {
    if (type.name === 'site') {
      const value = siteAttribute(snapshot, attribute);
      if (value) found[attribute] = value;
      continue;
    }
    const { base, nic } = splitNic(attribute);
    const value = storedAttribute(snapshot, type, name, base) ?? '';
    if (!isNicAttribute(type, base)) found[attribute] = value;
    else {
      for (const [part, partValue] of Object.entries(nicAttributes(base, value))) {
        if (nic === undefined || part === attribute) found[part] = partValue;
      }
    }
  }
  return found;
}

function siteAttributes(snapshot: Snapshot): Attributes {
  const found: Record<string, string> = {};
  for (const key of snapshot.rows('site').keys()) {
    const value = siteAttribute(snapshot, key);
    if (value) found[key] = value;
  }
  return found;
}

function siteAttribute(snapshot: Snapshot, name: string): string | undefined {
  const value = siteValue(snapshot, name);
  return value && isCalledSecret(name) ? redacted : value;
}

/** An attribute of any type but node, as stored: groups' values are patterns for their members and shown as such. */
export function storedAttribute(
  snapshot: Snapshot,
  type: ObjectType,
  name: string,
  attribute: string,
): string | undefined {
  if (type.name === 'group' && attribute === 'members') return (groupMembers(snapshot, name) ?? []).join(',');
  for (const mapping of attributeNamed(type, attribute).at) {
    const row = rowOf(snapshot, type, mapping, name);
    const value = row && isEnabled(row) ? row[mapping.column] : undefined;
    if (value === undefined || value === '') continue;
    const valueOf = (other: string) => storedAttribute(snapshot, type, name, other);
    if (!conditionHolds(mapping, attribute, value, valueOf)) continue;
    return tableNamed(mapping.table).secret.has(mapping.column) ? redacted : value;
  }
  return undefined;
}

/** Where the objects of the type are named in a table. */
export function namingColumn(type: ObjectType, table: Table): string {
  if (table.name === type.home.table) return type.home.column;
  return table.nodeColumn !== undefined && (type.name === 'group' || type === nodeType)
    ? table.nodeColumn
    : type.home.column;
}

/** Anything rows can be looked up in: a snapshot or a draft. */
interface Lookup {
  get(table: string, key: string): Row | undefined;
}

/** The row of the object that holds the mapping's column. */
export function rowOf(
  snapshot: Snapshot,
  type: ObjectType,
  mapping: Pick<Mapping, 'table' | 'column' | 'where'>,
  name: string,
  newest: Lookup = snapshot,
): Row | undefined {
  const table = tableNamed(mapping.table);
  const naming = namingColumn(type, table);
  if (table.keys.length === 1 && table.keys[0] === naming) return newest.get(table.name, name);
  const wanted = Object.entries({ ...mapping.where, [naming]: name });
  const rows = snapshot.rows(table.name);
  for (const stored of table.keys[0] === naming
    ? rows.startingWith(rowsOfNodePrefix(name))
    : named(rows, naming, name)) {
    const row = newest === snapshot ? stored : newest.get(table.name, keyOf(table, stored));
    if (row && wanted.every(([column, value]) => row[column] === value)) return row;
  }
  return undefined;
}

const byColumn = new WeakMap<SortedMap<Row>, Map<string, Map<string, readonly Row[]>>>();

/** The rows with that name in a column that is not the first of their key; thousands of objects are looked up one by one. */
function named(rows: SortedMap<Row>, naming: string, name: string): readonly Row[] {
  let indexes = byColumn.get(rows);
  if (!indexes) byColumn.set(rows, (indexes = new Map()));
  let index = indexes.get(naming);
  if (!index) indexes.set(naming, (index = Map.groupBy(rows.values(), (row) => row[naming] ?? '')));
  return index.get(name) ?? [];
}
