import { removeObject } from '../objects/define.ts';
import { emptyRange, existingObjects, policyNodes } from '../objects/select.ts';
import { typeNamed } from '../objects/types.ts';
import { change, nothing } from './command.ts';

export interface RmdefArgs {
  readonly type: string;
  readonly names: string;
}

export const rmdef = change<RmdefArgs>({
  name: 'rmdef',
  select(snapshot, { type, names }, { ranges }) {
    const objects = existingObjects(snapshot, typeNamed(type), names, ranges);
    if (objects.length === 0) throw emptyRange(names);
    return { objects, nodes: policyNodes(snapshot, typeNamed(type), objects, ranges.sees) };
  },
  plan(draft, { type: typeName }, { selection: { objects = [] } }) {
    const type = typeNamed(typeName);
    for (const name of objects) removeObject(draft, type, name);
    return nothing;
  },
});
