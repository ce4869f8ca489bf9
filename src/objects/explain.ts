import { redacted } from '../database/draft.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from './effective.ts';
import { type Attributes, nodeAttribute } from './node-attributes.ts';
import { isPattern } from './substitution/index.ts';
import { attributeNamed, conditionHolds, isSecret, nodeType } from './types.ts';

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
