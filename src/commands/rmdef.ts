import { Type } from 'typebox';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { mostUnknownNames } from '../objects/cluster.ts';
import { removeObject } from '../objects/define.ts';
import {
  questionsOfSet,
  resolved,
  type Resolved,
  selectionOf,
  tablesOfSet,
  wordsOfSet,
} from '../objects/definition-set.ts';
import { allMembers } from '../objects/groups.ts';
import { refuseChanged, stateSeen } from '../objects/moments.ts';
import { goneGroupNote } from '../objects/notes.ts';
import { emptyRange, existingObjects, policyNodesInSlices, unknownObjects } from '../objects/select.ts';
import { definitionWords } from '../objects/shown-arguments.ts';
import { tablesBehind, typeNamed } from '../objects/types.ts';
import { checkUnused } from '../boot/index.ts';
import { type Answer, type Arguments, change, nothing, type Selection } from './command.ts';

const force = Type.Optional(Type.Boolean({ description: 'also images that nodes are set to' }));
const forceWords = (given: { readonly force?: boolean | undefined }): string[] => (given.force ? ['-f'] : []);

export const rmdef = change({
  name: 'rmdef',
  args: Type.Object({ type: Type.String(), names: Type.String(), force }),
  line: (given) => [...definitionWords(given.type, given.names), ...forceWords(given)],
  tablesShown: ({ type }) => tablesBehind(typeNamed(type)),
  *select(snapshot, { type, names }, { ranges }): Interruptible<Selection> {
    const objects = existingObjects(snapshot, typeNamed(type), names, ranges);
    if (objects.length === 0) throw emptyRange(names);
    return { objects, nodes: yield* policyNodesInSlices(snapshot, typeNamed(type), objects, ranges.sees) };
  },
  *plan(draft, { type: typeName, force: forced }, { selection: { objects = [] }, ranges }): Interruptible<Answer> {
    const type = typeNamed(typeName);
    const notes: string[] = [];
    yield* eachInSlices(objects, (name) => {
      if (type.name === 'group') notes.push(...goneGroup(draft.base, name, ranges.sees));
      removeObject(draft, type, name);
    });
    const images = type.name === 'osimage' ? objects : [];
    notes.push(...(yield* checkUnused(() => draft.snapshot(), images, { force: forced, sees: ranges.sees })));
    return notes.length === 0 ? nothing : { shape: 'none', notes };
  },
});

/** Of a group that is no more than a word of its members; of others the change of their row says so. */
function goneGroup(snapshot: Snapshot, name: string, sees: ((node: string) => boolean) | undefined): string[] {
  if (snapshot.get('nodegroup', name)) return [];
  const members = allMembers(snapshot, name).filter((node) => !sees || sees(node));
  return members.length > 0 ? [goneGroupNote(name, members.length)] : [];
}

const args = Type.Object({
  definitions: Type.Array(Type.Object({ type: Type.String(), names: Type.String() })),
  missing: Type.Optional(Type.Enum(['refuse', 'skip'], { description: 'what becomes of names that nothing has' })),
  force,
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'the revision at which the caller read them' })),
});
type Args = Arguments<typeof args>;
/** With the state that the caller saw. */
type Prepared = Args & { readonly seen?: Snapshot };

const setOf = ({ definitions }: Args) => definitions.map((each) => ({ ...each, attributes: {} }));

/** Removes objects of any types in one change, and says what became of each; the policy knows it as rmdef. */
export const rmdefs = change({
  name: 'rmdef',
  args,
  uses: ['store'],
  async prepare(given, { store }): Promise<Prepared> {
    const seen = await stateSeen(store, given.since);
    return seen ? { ...given, seen } : given;
  },
  line: (given) => wordsOfSet(setOf(given), forceWords(given)),
  tablesShown: (given) => tablesOfSet(setOf(given)),
  *select(snapshot, given, { ranges }): Interruptible<Selection> {
    const set: Resolved[] = [];
    for (const each of setOf(given)) {
      const found = resolved(snapshot, each, ranges, mostUnknownNames);
      const { type, existing, missing } = found;
      if (existing.length + missing.length === 0) throw emptyRange(each.names);
      if (missing.length > 0 && given.missing !== 'skip') throw unknownObjects(type, missing, existing);
      set.push(found);
      yield;
    }
    return yield* selectionOf(snapshot, set, ranges.sees);
  },
  questions: (snapshot, given) =>
    given.definitions.length > 1 ? questionsOfSet(snapshot, setOf(given), forceWords(given)) : undefined,
  *plan(draft, given, { ranges }): Interruptible<Answer> {
    const removed: string[] = [];
    const images: string[] = [];
    const missed: { type: string; name: string }[] = [];
    const { seen } = given as Prepared;
    for (const each of setOf(given)) {
      const found = resolved(draft.base, each, ranges);
      const { type, existing, missing } = found;
      if (seen) yield* refuseChanged(seen, draft.base, [found], ranges.sees);
      yield* eachInSlices(existing, (name) => removeObject(draft, type, name));
      removed.push(...existing);
      if (type.name === 'osimage') images.push(...existing);
      missed.push(...missing.map((name) => ({ type: type.name, name })));
    }
    yield* checkUnused(() => draft.snapshot(), images, { force: given.force, sees: ranges.sees });
    return { shape: 'value', value: { removed, missing: missed } };
  },
});
