import { Type } from 'typebox';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { removeObject } from '../objects/define.ts';
import { allMembers } from '../objects/groups.ts';
import { goneGroupNote } from '../objects/notes.ts';
import { emptyRange, existingObjects, policyNodesInSlices } from '../objects/select.ts';
import { definitionWords } from '../objects/shown-arguments.ts';
import { tablesBehind, typeNamed } from '../objects/types.ts';
import { type Answer, change, nothing, type Selection } from './command.ts';

export const rmdef = change({
  name: 'rmdef',
  args: Type.Object({ type: Type.String(), names: Type.String() }),
  line: ({ type, names }) => definitionWords(type, names),
  tablesShown: ({ type }) => tablesBehind(typeNamed(type)),
  *select(snapshot, { type, names }, { ranges }): Interruptible<Selection> {
    const objects = existingObjects(snapshot, typeNamed(type), names, ranges);
    if (objects.length === 0) throw emptyRange(names);
    return { objects, nodes: yield* policyNodesInSlices(snapshot, typeNamed(type), objects, ranges.sees) };
  },
  *plan(draft, { type: typeName }, { selection: { objects = [] }, ranges }): Interruptible<Answer> {
    const type = typeNamed(typeName);
    const notes: string[] = [];
    yield* eachInSlices(objects, (name) => {
      if (type.name === 'group') notes.push(...goneGroup(draft.base, name, ranges.sees));
      removeObject(draft, type, name);
    });
    return notes.length === 0 ? nothing : { shape: 'none', notes };
  },
});

/** Of a group that is no more than a word of its members; of others the change of their row tells. */
function goneGroup(snapshot: Snapshot, name: string, sees: ((node: string) => boolean) | undefined): string[] {
  if (snapshot.get('nodegroup', name)) return [];
  const members = allMembers(snapshot, name).filter((node) => !sees || sees(node));
  return members.length > 0 ? [goneGroupNote(name, members.length)] : [];
}
