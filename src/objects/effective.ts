import { cachedByText } from '../core/cache.ts';
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

/** A comma list as its items, blanks trimmed. The same few lists recur on every node. */
export const listItems = cachedByText(20_000, (list): readonly string[] =>
  list.split(',').flatMap((item) => item.trim() || []),
);

/** Reads nodes' effective values from one snapshot: own row first, then the groups in their order. */
export class EffectiveReader {
  readonly snapshot: Snapshot;
  #inUse: readonly Table[] | undefined;
  readonly #groupRows = new Map<string, Map<string, readonly Row[]>>();
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
    return listItems(this.nodeRow(node)?.['groups'] ?? '');
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
    const groups = this.groupsOf(node);
    let all: Row[] | undefined;
    for (const group of groups) {
      const rows = this.#rowsOfGroup(table, group);
      if (rows.length > 0) (all ??= [...own]).push(...rows);
    }
    const sources = all ?? own;
    if (!where) return sources;
    return sources.filter((row) => Object.entries(where).every(([column, value]) => row[column] === value));
  }

  #rowsOfGroup(table: Table, group: string): readonly Row[] {
    let byGroup = this.#groupRows.get(table.name);
    if (!byGroup) this.#groupRows.set(table.name, (byGroup = new Map()));
    let rows = byGroup.get(group);
    if (!rows) byGroup.set(group, (rows = this.ownRows(table, group)));
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

function substituteRow(table: Table, row: Record<string, string>, node: string): Row {
  const nics = table.name === 'nics';
  for (const column in row) {
    const value = row[column]!;
    const first = value.charCodeAt(0);
    if (!nics && first !== 0x7c && first !== 0x2f) continue;
    if (table.secret.has(column)) continue;
    const result = nics ? substituteNics(value, node) : substitute(value, node);
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
