import { cachedByText } from '../core/cache.ts';
import { listItems } from '../core/list-items.ts';
import { redacted } from '../database/draft.ts';
import { replacingSecrets } from '../database/secret-columns.ts';
import { Snapshot } from '../database/snapshot.ts';
import { isEnabled, nodeTables, type Row, rowsOfNodePrefix, type Table, tableNamed } from '../database/tables.ts';
import { type Attributes, nicParts, nodeAttribute, nodeAttributes } from './node-attributes.ts';
import { isPattern, substitute, substituteNics } from './substitution/index.ts';
import { attributeNamed, conditionHolds, isSecret, nodeType, splitNic } from './types.ts';

const nextRecord = '+=NEXTRECORD';

/** Where a value came from. */
interface Source {
  readonly table: string;
  readonly column: string;
  /** The node itself or the group whose row gave the value. */
  readonly from: string;
  readonly stored: string;
}

/** A setting of the site; rows that are disabled do not count. */
export function siteValue(snapshot: Snapshot, key: string): string | undefined {
  const row = snapshot.get('site', key);
  return row && isEnabled(row) ? row['value'] : undefined;
}

/** Reads nodes' effective values from one snapshot: own row first, then the groups in their order. */
export class EffectiveReader {
  readonly snapshot: Snapshot;
  #inUse: readonly Table[] | undefined;
  /** By table and list of groups: thousands of nodes have the same. */
  readonly #groupRows = new Map<Table, Map<readonly string[], readonly Row[]>>();
  /** Of the node that was read last: one table of it is read after the other. */
  #latestGroups: { readonly node: string; readonly groups: readonly string[] } = { node: '', groups: [] };
  readonly #hierarchical: ReadonlyMap<string, string>;

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot;
    this.#hierarchical = hierarchicalColumns(siteValue(snapshot, 'hierarchicalattrs') ?? '');
  }

  /** The node tables that hold any row at all; most are empty in most clusters. */
  get tablesInUse(): readonly Table[] {
    return (this.#inUse ??= nodeTables.filter((table) => this.snapshot.rows(table.name).size > 0));
  }

  nodeRow(node: string): Row | undefined {
    const row = this.snapshot.get('nodelist', node);
    return row && isEnabled(row) ? row : undefined;
  }

  groupsOf(node: string): readonly string[] {
    if (this.#latestGroups.node !== node)
      this.#latestGroups = { node, groups: listItems(this.nodeRow(node)?.['groups'] ?? '') };
    return this.#latestGroups.groups;
  }

  /** The enabled rows stored under exactly this node or group name. */
  ownRows(table: Table, name: string): readonly Row[] {
    const rows = this.snapshot.rows(table.name);
    if (table.keys.length > 1) return rows.startingWith(rowsOfNodePrefix(name)).filter(isEnabled);
    const row = rows.get(name);
    return row && isEnabled(row) ? [row] : [];
  }

  /** All columns of the table as the node has them, nothing substituted or redacted left to do but secrets stay sealed. */
  row(table: Table, node: string, where?: Readonly<Record<string, string>>): Row | undefined {
    const sources = this.#sources(table, node, where);
    if (sources.length === 0) return undefined;
    const merged = mergeColumns(table, sources, this.#hierarchical);
    return substituteRow(table, merged, node);
  }

  /** One of its columns. Most nodes have it in a row of their own, as it is to be read: then nothing else is looked at. */
  value(table: Table, column: string, node: string, where?: Readonly<Record<string, string>>): string | undefined {
    const own = where || table.keys.length > 1 ? undefined : this.snapshot.get(table.name, node);
    const stored = own && isEnabled(own) ? own[column] : undefined;
    if (stored && this.#standsAsItIs(table, column, stored)) return stored;
    return this.row(table, node, where)?.[column];
  }

  /** Whether groups add nothing to it and no pattern is in it. */
  #standsAsItIs(table: Table, column: string, stored: string): boolean {
    if (column === table.nodeColumn || column === 'disable' || this.#hierarchical.has(column)) return false;
    return !mayBePattern(table, stored) && !stored.endsWith(nextRecord);
  }

  /** One column and the row that gave it, before substitution. */
  explain(table: Table, column: string, node: string, where?: Readonly<Record<string, string>>): Source | undefined {
    for (const row of this.#sources(table, node, where)) {
      const stored = row[column];
      if (stored === undefined || stored === '') continue;
      return { table: table.name, column, from: row[table.nodeColumn!]!, stored };
    }
    return undefined;
  }

  #sources(table: Table, node: string, where: Readonly<Record<string, string>> | undefined): readonly Row[] {
    const own = this.ownRows(table, node);
    if (table.name === 'nodelist') return own;
    const ofGroups = this.#rowsOfGroups(table, this.groupsOf(node));
    const sources = ofGroups.length === 0 ? own : [...own, ...ofGroups];
    if (!where) return sources;
    return sources.filter((row) => Object.entries(where).every(([column, value]) => row[column] === value));
  }

  #rowsOfGroups(table: Table, groups: readonly string[]): readonly Row[] {
    let known = this.#groupRows.get(table);
    if (!known) this.#groupRows.set(table, (known = new Map()));
    let rows = known.get(groups);
    if (!rows) known.set(groups, (rows = groups.flatMap((group) => this.ownRows(table, group))));
    return rows;
  }
}

export const effectiveReader = Snapshot.cached((snapshot) => new EffectiveReader(snapshot));

/** site.hierarchicalattrs: `column[:delimiter]` items, separated by commas. */
const hierarchicalColumns = cachedByText(16, (text): ReadonlyMap<string, string> => {
  const columns = new Map<string, string>();
  for (const item of listItems(text)) {
    const [column, delimiter] = item.split(':', 2);
    columns.set(column!, delimiter || ',');
  }
  return columns;
});

function mergeColumns(
  table: Table,
  sources: readonly Row[],
  hierarchical: ReadonlyMap<string, string>,
): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const row of sources) {
    for (const column in row) {
      const value = row[column]!;
      if (value === '' || column === table.nodeColumn || column === 'disable') continue;
      const earlier = merged[column];
      if (earlier === undefined) merged[column] = value;
      else if (hierarchical.has(column)) merged[column] = earlier + hierarchical.get(column)! + value;
      else if (earlier.endsWith(nextRecord)) merged[column] = earlier.slice(0, -nextRecord.length) + value;
    }
  }
  for (const column in merged) {
    let value = merged[column]!;
    if (value.endsWith(nextRecord)) merged[column] = value = value.slice(0, -nextRecord.length);
    const delimiter = hierarchical.get(column);
    if (delimiter !== undefined) merged[column] = [...new Set(value.split(delimiter))].join(delimiter);
  }
  return merged;
}

const isNics = ({ name }: Table): boolean => name === 'nics';

function mayBePattern(table: Table, value: string): boolean {
  const first = value.charCodeAt(0);
  return first === 0x7c || first === 0x2f || isNics(table);
}

function substituteRow(table: Table, row: Record<string, string>, node: string): Row {
  for (const column in row) {
    const value = row[column]!;
    if (!mayBePattern(table, value) || table.secret.has(column)) continue;
    const result = isNics(table) ? substituteNics(value, node) : substitute(value, node);
    if (result === undefined || result === '') delete row[column];
    else row[column] = result;
  }
  return row;
}

/** The row with its secrets hidden. */
export const redactRow = (table: Table, row: Row): Row => replacingSecrets(table, row, () => redacted);

/** Which row gave a node's attribute, and by which pattern. */
export function explainAttribute(reader: EffectiveReader, node: string, name: string): Attributes {
  const attribute = attributeNamed(nodeType, name);
  const value = nodeAttribute(reader, node, name) ?? '';
  for (const mapping of attribute.at) {
    const source = reader.explain(tableNamed(mapping.table), mapping.column, node, mapping.where);
    if (!source) continue;
    if (!conditionHolds(mapping, name, source.stored, (other) => nodeAttribute(reader, node, other))) continue;
    const stored = isSecret(mapping) ? redacted : source.stored;
    return {
      value,
      source: source.from === node ? 'node' : 'group',
      row: source.from,
      table: source.table,
      column: source.column,
      stored,
      ...(isPattern(stored) || stored.includes('|') ? { pattern: stored } : {}),
      ...(mapping.onlyIf ? { because: `${mapping.onlyIf[0]} is ${mapping.onlyIf[1]}` } : {}),
    };
  }
  if (value !== '')
    return { value, source: 'default', row: 'xcatdefaults', table: 'postscripts', column: name, stored: value };
  return { value, source: 'unset' };
}

/** What is stored at the node itself, as it is stored: nothing of its groups, no pattern filled in. Secrets are hidden. */
export function ownAttributes(reader: EffectiveReader, node: string): Attributes {
  const own: Record<string, string> = {};
  for (const name of Object.keys(nodeAttributes(reader, node))) {
    const { source, stored = '', value = '' } = explainAttribute(reader, node, name);
    if (source !== 'node') continue;
    const { nic } = splitNic(name);
    own[name] = nic === undefined ? stored : (nicParts(stored).find(([part]) => part === nic)?.[1] ?? value);
  }
  return own;
}
