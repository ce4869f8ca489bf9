import { type Given, lacksGroups } from './define.ts';
import { allNewNodes, emptyRange, unknownObjects } from './select.ts';
import type { ObjectType } from './types.ts';

/** Objects, and what is to be written to them. */
interface Named {
  readonly names: string;
  readonly attributes?: Given | undefined;
  /** The caller counts on existing objects. */
  readonly mustExist?: boolean | undefined;
}

/** What is named must exist, unless it can be made of what is given. */
export function checkNamed(
  type: ObjectType,
  named: Named,
  existing: readonly string[],
  missing: readonly string[],
): void {
  if (existing.length + missing.length === 0) throw emptyRange(named.names);
  const canBeCreated = mayCreate(type, named) && (type.name !== 'node' || allNewNodes(missing));
  if (missing.length === 0 || canBeCreated) return;
  // The reference system would make a node, if it had groups.
  const lacks = type.name === 'node' && named.attributes ? lacksGroups : undefined;
  throw unknownObjects(type, missing, existing, lacks);
}

/** Whether what is given suffices to make objects that do not exist. */
export function mayCreate(type: ObjectType, { attributes, mustExist }: Named): boolean {
  if (!attributes || mustExist) return false;
  if (type.name === 'node') return Boolean(attributes['groups']);
  const values = Object.values(attributes);
  // A group is one without members too; of anything else cleared attributes leave nothing to make.
  return type.name === 'group' ? values.length > 0 : values.some((value) => value !== '');
}
