import { Fault } from '../core/errors.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { byText } from '../database/sorted-map.ts';
import { objectAttributes, objectExists, rowOf } from './definitions.ts';
import type { Given } from './define.ts';
import type { Attributes } from './node-attributes.ts';
import data from './templates.json' with { type: 'json' };
import { hasWord, isSecret, type ObjectType } from './types.ts';

export const nodeTemplates: ReadonlyMap<string, Attributes> = new Map(
  Object.entries(data as Record<string, Attributes>).sort(([a], [b]) => byText(a, b)),
);

/** Whether a template of this name comes with muster; every other name is that of an object. */
export const isShipped = (type: ObjectType, template: string): boolean =>
  type.name === 'node' && nodeTemplates.has(template);

const mandatory = 'MANDATORY:';
const optional = 'OPTIONAL:';

/** The attributes of a new object made after a template or an existing object of the type; given ones win. */
export function fromTemplate(snapshot: Snapshot, type: ObjectType, template: string, given: Given): Given {
  const base = templateAttributes(snapshot, type, template);
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(base)) {
    if (given[name] !== undefined) continue;
    if (value.startsWith(mandatory)) {
      throw new Fault(
        'invalid',
        `Template "${template}": the attribute ${name} must be given (${value.slice(mandatory.length)}).`,
        { reference: [`The attribute "${name}" must be specified!`] },
      );
    }
    if (!value.startsWith(optional)) attributes[name] = value;
  }
  return { ...attributes, ...given };
}

export function templateAttributes(snapshot: Snapshot, type: ObjectType, template: string): Attributes {
  const shipped = type.name === 'node' ? nodeTemplates.get(template) : undefined;
  if (shipped) return shipped;
  if (objectExists(snapshot, type, template)) return ownAttributes(snapshot, type, template);
  const known = type.name === 'node' ? ` Templates: ${[...nodeTemplates.keys()].join(', ')}.` : '';
  throw new Fault('unknown-object', `There is neither a template nor a ${type.name} named "${template}".${known}`, {
    reference: [`Could not find the template object named '${template}' of type '${type.name}'.`],
  });
}

/** What is stored for the object itself: what it has from groups the new one gets from its own, and secrets are not copied unseen. */
function ownAttributes(snapshot: Snapshot, type: ObjectType, name: string): Attributes {
  const shown = objectAttributes(snapshot, type, name);
  const own: Record<string, string> = {};
  for (const [attribute, { at }] of type.attributes) {
    if (attribute === type.key || attribute === 'members') continue;
    for (const mapping of at) {
      const value = rowOf(snapshot, type, mapping, name)?.[mapping.column];
      if (!value || (mapping.onlyIf && !hasWord(shown[mapping.onlyIf[0]], mapping.onlyIf[1]))) continue;
      own[attribute] = isSecret(mapping) ? `${mandatory}a secret of ${name} is not copied; "" leaves it out` : value;
      break;
    }
  }
  return own;
}
