import { Type } from 'typebox';
import { eachInSlices, type Sliced } from '../core/slices.ts';
import { removeObject } from '../objects/define.ts';
import { emptyRange, existingObjects, policyNodesInSlices } from '../objects/select.ts';
import { definitionWords } from '../objects/shown-arguments.ts';
import { tablesBehind, typeNamed } from '../objects/types.ts';
import { type Answer, change, nothing, type Selection } from './command.ts';

export const rmdef = change({
  name: 'rmdef',
  args: Type.Object({ type: Type.String(), names: Type.String() }),
  line: ({ type, names }) => definitionWords(type, names),
  tablesShown: ({ type }) => tablesBehind(typeNamed(type)),
  *select(snapshot, { type, names }, { ranges }): Sliced<Selection> {
    const objects = existingObjects(snapshot, typeNamed(type), names, ranges);
    if (objects.length === 0) throw emptyRange(names);
    return { objects, nodes: yield* policyNodesInSlices(snapshot, typeNamed(type), objects, ranges.sees) };
  },
  *plan(draft, { type: typeName }, { selection: { objects = [] } }): Sliced<Answer> {
    const type = typeNamed(typeName);
    yield* eachInSlices(objects, (name) => removeObject(draft, type, name));
    return nothing;
  },
});
