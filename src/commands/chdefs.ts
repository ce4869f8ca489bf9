import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Mode } from '../objects/assign.ts';
import { refuseChanged, stateSeen } from '../objects/moments.ts';
import { mostUnknownNames, type RangeOptions } from '../objects/cluster.ts';
import { changeObject, checkAttributeNames, createObject, removeObject } from '../objects/define.ts';
import {
  type Definition,
  questionsOfSet,
  type Resolved,
  resolved,
  selectionOf,
  tablesOfSet,
  wordsOfSet,
} from '../objects/definition-set.ts';
import { checkNamed, mayCreate } from '../objects/creatable.ts';
import { lifetimeMessages } from '../objects/accounts.ts';
import { typeNamed } from '../objects/types.ts';
import { checkUnused } from '../boot/index.ts';
import { type Answer, type Arguments, change, definitionSet, type Question, type Selection } from './command.ts';

const args = Type.Object({
  set: definitionSet,
  mode: Type.Optional(Type.Enum(['set', 'append', 'remove'])),
  remove: Type.Optional(Type.Array(Type.Object({ type: Type.String(), names: Type.String() }))),
  since: Type.Optional(Type.Integer({ minimum: 0, description: 'the revision at which the caller read them' })),
});
type Args = Arguments<typeof args>;
/** With the state that the caller saw. */
type Prepared = Args & { readonly seen?: Snapshot };

const modeFlags: Readonly<Record<Mode, readonly string[]>> = { set: [], append: ['-p'], remove: ['-m'] };
const flagsOf = ({ mode = 'set' }: Args): readonly string[] => modeFlags[mode];
const removalsOf = ({ remove = [] }: Args): readonly Definition[] =>
  remove.map((each) => ({ ...each, attributes: {} }));

/** Changes, makes and removes objects of any types in one change, and says what became of each; the policy knows it as chdef, and as rmdef. */
export const chdefs = change({
  name: 'chdef',
  args,
  also: ({ remove }) => (remove?.length ? ['rmdef'] : []),
  async prepare(given, { store }): Promise<Prepared> {
    const seen = await stateSeen(store, given.since);
    return seen ? { ...given, seen } : given;
  },
  uses: ['store'],
  *line(given): Interruptible<string[]> {
    const words = yield* wordsOfSet(given.set, flagsOf(given));
    return given.remove?.length ? [...words, 'rmdef', ...(yield* wordsOfSet(removalsOf(given), []))] : words;
  },
  tablesShown: (given) => tablesOfSet([...given.set, ...removalsOf(given)]),
  *select(snapshot, given, { ranges }): Interruptible<Selection> {
    const written = yield* writtenOf(snapshot, given, ranges);
    const removed = yield* removedOf(snapshot, given, ranges);
    refuseBoth(written, removed);
    return yield* selectionOf(snapshot, [...written, ...removed], ranges.sees);
  },
  questions: (snapshot, given) =>
    given.set.length > 1 || given.remove?.length ? questionsOf(snapshot, given) : undefined,
  *plan(draft, given, { ranges }): Interruptible<Answer> {
    const written = yield* writtenOf(draft.base, given, ranges);
    const removed = yield* removedOf(draft.base, given, ranges);
    const { seen } = given as Prepared;
    if (seen) yield* refuseChanged(seen, draft.base, [...written, ...removed], ranges.sees);
    for (const { type, attributes } of written) checkAttributeNames(type, attributes);
    for (const { type, existing } of removed) yield* eachInSlices(existing, (name) => removeObject(draft, type, name));
    const images = removed.flatMap(({ type, existing }) => (type.name === 'osimage' ? existing : []));
    yield* checkUnused(() => draft.snapshot(), images, { force: false, sees: ranges.sees });
    for (const { type, existing, missing, attributes } of written) {
      yield* eachInSlices(existing, (name) => changeObject(draft, type, name, attributes, given.mode ?? 'set', ranges));
      yield* eachInSlices(missing, (name) => createObject(draft, type, name, attributes, ranges));
      // Most have one object, for which there is nothing to yield above.
      yield;
    }
    const value = {
      changed: written.flatMap(({ existing }) => existing),
      created: written.flatMap(({ missing }) => missing),
      ...(given.remove ? { removed: removed.flatMap(({ existing }) => existing) } : {}),
      messages: lifetimeMessages(draft),
    };
    return { shape: 'value', value };
  },
});

/** What is written, each definition with the objects it is for. */
function* writtenOf(snapshot: Snapshot, { set }: Args, ranges: RangeOptions): Interruptible<Resolved[]> {
  const all: Resolved[] = [];
  for (const each of set) {
    const type = typeNamed(each.type);
    const found = resolved(snapshot, each, ranges, mayCreate(type, each) ? undefined : mostUnknownNames);
    checkNamed(type, each, found.existing, found.missing);
    all.push(found);
    yield;
  }
  return all;
}

/** What is removed; what is not there is gone already. */
function* removedOf(snapshot: Snapshot, given: Args, ranges: RangeOptions): Interruptible<Resolved[]> {
  const all: Resolved[] = [];
  for (const each of removalsOf(given)) {
    if (typeNamed(each.type).name === 'site') throw new Fault('invalid', 'The site cannot be removed.');
    all.push({ ...resolved(snapshot, each, ranges, mostUnknownNames), missing: [] });
    yield;
  }
  return all;
}

function refuseBoth(written: readonly Resolved[], removed: readonly Resolved[]): void {
  const names = new Set(removed.flatMap(({ type, existing }) => existing.map((name) => `${type.name} ${name}`)));
  for (const { type, existing } of written)
    for (const name of existing)
      if (names.has(`${type.name} ${name}`))
        throw new Fault(
          'invalid',
          `${type.name} ${name} is both to be changed and to be removed; ask for one of them.`,
        );
}

function* questionsOf(snapshot: Snapshot, given: Args): Interruptible<Question[]> {
  const removals = yield* questionsOfSet(snapshot, removalsOf(given), []);
  return [
    ...(yield* questionsOfSet(snapshot, given.set, flagsOf(given))),
    ...removals.map((each) => ({ ...each, command: 'rmdef' })),
  ];
}
