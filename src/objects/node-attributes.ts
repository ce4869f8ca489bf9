import { redacted } from '../database/draft.ts';
import { byText } from '../database/sorted-map.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled, type Row, tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from './effective.ts';
import { isPattern } from './substitution/index.ts';
import { attributeNamed, conditionHolds, hasWord, isSecret, type Mapping, nodeType, splitNic } from './types.ts';

export type Attributes = Readonly<Record<string, string>>;

/** The group-independent row whose scripts run on every node, before the node's own. */
export function defaultScripts(snapshot: Snapshot): Row | undefined {
  const row = snapshot.get('postscripts', 'xcatdefaults');
  return row && isEnabled(row) ? row : undefined;
}

/** The same without the scripts that run on every node. */
export function withoutDefaultScripts(snapshot: Snapshot, attributes: Attributes): Attributes {
  const defaults = defaultScripts(snapshot);
  const own: Record<string, string> = { ...attributes };
  for (const name of scriptAttributes) {
    const value = own[name];
    if (!value || !defaults?.[name]) continue;
    const others = new Set(defaults[name].split(','));
    own[name] = value
      .split(',')
      .filter((script) => !others.has(script))
      .join(',');
    if (own[name] === '') delete own[name];
  }
  return own;
}

/** All set attributes of a node, sorted by name, secrets hidden. */
export function nodeAttributes(reader: EffectiveReader, node: string): Attributes {
  const found: Record<string, { rank: number; value: string }> = {};
  const conditional: { attribute: string; rank: number; value: string; mapping: Mapping }[] = [];
  for (const table of reader.tablesInUse) {
    const uses = nodeType.uses.get(table.name);
    if (!uses) continue;
    const row = reader.row(table, node);
    for (const column in row) {
      for (const { attribute, rank, mapping } of uses.get(column) ?? []) {
        const value = mapping.where ? reader.row(table, node, mapping.where)?.[column] : row[column];
        if (value === undefined) continue;
        const shown = table.secret.has(column) ? redacted : value;
        if (mapping.onlyIf && mapping.onlyIf[0] !== attribute) {
          conditional.push({ attribute, rank, value: shown, mapping });
          continue;
        }
        if (mapping.onlyIf && !hasWord(value, mapping.onlyIf[1])) continue;
        if (!found[attribute] || rank < found[attribute].rank) found[attribute] = { rank, value: shown };
      }
    }
  }
  for (const { attribute, rank, value, mapping } of conditional) {
    const [condition, word] = mapping.onlyIf!;
    if (!hasWord(found[condition]?.value, word)) continue;
    if (!found[attribute] || rank < found[attribute].rank) found[attribute] = { rank, value };
  }
  return assemble(reader, found);
}

function assemble(reader: EffectiveReader, found: Record<string, { value: string }>): Attributes {
  const defaults = defaultScripts(reader.snapshot);
  const names = Object.keys(found);
  for (const name of scriptAttributes) if (defaults?.[name] && !found[name]) names.push(name);
  const attributes: Record<string, string> = {};
  for (const name of names.sort()) {
    const value = found[name]?.value ?? '';
    if (isScripts(name)) attributes[name] = withDefaults(defaults, name, value);
    else if (isNics(name)) Object.assign(attributes, nicAttributes(name, value));
    else attributes[name] = value;
  }
  return attributes;
}

const scriptAttributes = ['postscripts', 'postbootscripts'];
const isScripts = (name: string): boolean => name === 'postscripts' || name === 'postbootscripts';
const isNics = (name: string): boolean =>
  name.startsWith('nic') && nodeType.attributes.get(name)?.at[0]?.table === 'nics';

function withDefaults(defaults: Row | undefined, name: string, own: string): string {
  const inherited = defaults?.[name] ?? '';
  return inherited && own ? `${inherited},${own}` : inherited || own;
}

/** `eth0!10.0.0.1|10.0.0.2,eth1!...` as attributes `nicips.eth0`, `nicips.eth1`. */
export function nicAttributes(base: string, stored: string): Record<string, string> {
  const parts = nicParts(stored).sort(([a], [b]) => byText(a, b));
  return Object.fromEntries(parts.map(([nic, value]) => [`${base}.${nic}`, value]));
}

/**
 * The parts of a nic column, one per nic. A value that is a pattern may hold commas and `!` of its own; of a pattern for the whole column
 * each nic gets a pattern for its part.
 */
export function nicParts(stored: string): [nic: string, value: string][] {
  if (!stored.startsWith('|') || !isPattern(stored)) return plainNicParts(stored);
  const bar = stored.indexOf('|', 1);
  const start = bar < stored.length - 1 ? bar + 1 : 1;
  return plainNicParts(stored.slice(start, -1)).map(([nic, value]) => [nic, `${stored.slice(0, start)}${value}|`]);
}

function plainNicParts(stored: string): [nic: string, value: string][] {
  const parts: [string, string][] = [];
  for (const piece of stored.split(',')) {
    const mark = piece.indexOf('!');
    const last = parts.at(-1);
    if (mark > 0 && /^[A-Za-z0-9_.:-]+$/.test(piece.slice(0, mark)))
      parts.push([piece.slice(0, mark), piece.slice(mark + 1)]);
    else if (last) last[1] += `,${piece}`;
  }
  return parts;
}

/** Whether a value for a whole nic column begins with a nic: any other would replace all parts by one that nothing reads. */
export const namesNics = (value: string): boolean =>
  value === '' || (isPattern(value) ? value.includes('!') : /^[A-Za-z0-9_.:-]+!/.test(value));

/** One attribute of a node, or undefined if it is not set. Asks only the tables the attribute needs. */
export function nodeAttribute(reader: EffectiveReader, node: string, name: string): string | undefined {
  const { base, nic } = splitNic(name);
  const attribute = attributeNamed(nodeType, name);
  let value: string | undefined;
  for (const mapping of attribute.at) {
    const found = reader.value(tableNamed(mapping.table), mapping.column, node, mapping.where);
    if (found === undefined) continue;
    if (!conditionHolds(mapping, base, found, (other) => nodeAttribute(reader, node, other))) continue;
    value = isSecret(mapping) ? redacted : found;
    break;
  }
  if (isScripts(base)) return withDefaults(defaultScripts(reader.snapshot), base, value ?? '') || undefined;
  return nic === undefined || value === undefined ? value : nicParts(value).find(([part]) => part === nic)?.[1];
}

/** The named attributes of a node: unset ones as empty text, nic attributes as their parts. */
export function selectedAttributes(reader: EffectiveReader, node: string, names: readonly string[]): Attributes {
  const selected: Record<string, string> = {};
  for (const name of names) {
    const value = nodeAttribute(reader, node, name);
    if (!isNics(splitNic(name).base)) selected[name] = value ?? '';
    else if (value !== undefined)
      Object.assign(selected, name.includes('.') ? { [name]: value } : nicAttributes(name, value));
  }
  return selected;
}
