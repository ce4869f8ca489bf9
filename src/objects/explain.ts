import { redacted } from '../database/draft.ts';
import { tableNamed } from '../database/tables.ts';
import type { EffectiveReader } from './effective.ts';
import { type Attributes, nicParts, nodeAttribute, nodeAttributes } from './node-attributes.ts';
import { isPattern } from './substitution/index.ts';
import { attributeNamed, conditionHolds, isSecret, nodeType, splitNic } from './types.ts';

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
