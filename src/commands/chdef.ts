import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Mode } from '../objects/assign.ts';
import { changeObject, checkAttributeNames, createObject, type Given, renameObject } from '../objects/define.ts';
import { objectAttributes, objectExists } from '../objects/definitions.ts';
import { mostUnknownNames } from '../objects/cluster.ts';
import { checkNamed, mayCreate } from '../objects/creatable.ts';
import { namedObjects, policyNodes, policyNodesInSlices, unknownObjects } from '../objects/select.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { attributeWords, definitionWords } from '../objects/shown-arguments.ts';
import { refuseWithMachine } from '../machines/index.ts';
import { lifetimeMessages } from '../objects/accounts.ts';
import { type ObjectType, tablesBehind, typeNamed } from '../objects/types.ts';
import {
  type Answer,
  type Arguments,
  change,
  noSelection,
  nothing,
  type Question,
  type Scope,
  type Selection,
  textMap,
} from './command.ts';

const typeName = Type.String();
const mustExist = Type.Optional(
  Type.Boolean({ description: 'the caller counts on existing objects, so unknown ones are not made' }),
);
const changedAlike = Type.Object({
  type: typeName,
  names: Type.String(),
  attributes: textMap,
  mode: Type.Optional(Type.Enum(['set', 'append', 'remove'])),
  mustExist,
});
const renamed = Type.Object({ type: typeName, names: Type.String(), rename: Type.String() });
/** Many objects, each with its own attributes. */
const many = Type.Object({ type: typeName, definitions: Type.Record(Type.String(), textMap), mustExist });

type Changed = Arguments<typeof changedAlike>;
type Definitions = Readonly<Record<string, Given>>;

const modeFlags: Readonly<Record<Mode, readonly string[]>> = { set: [], append: ['-p'], remove: ['-m'] };

export const chdef = change({
  name: 'chdef',
  args: Type.Union([changedAlike, renamed, many]),
  line(args) {
    if ('definitions' in args) return wordsOfAll(args.type, args.definitions);
    if ('rename' in args) return [...definitionWords(args.type, args.names), '-n', withoutSecrets(args.rename)];
    if (args.type === 'site') return ['-t', 'site', ...attributeWords('site', args.attributes)];
    return definitionWords(args.type, args.names, args.attributes, modeFlags[args.mode ?? 'set']);
  },
  tablesShown: ({ type }) => tablesBehind(typeNamed(type)),
  *select(snapshot, args, { ranges }): Interruptible<Selection> {
    const type = typeNamed(args.type);
    if (type.name === 'site') return noSelection;
    const { existing, missing } =
      'definitions' in args
        ? partition(args.definitions, (name) => objectExists(snapshot, type, name))
        : namedObjects(snapshot, type, args.names, ranges, mayCreate(type, args) ? undefined : mostUnknownNames);
    if ('names' in args) checkNamed(type, args, existing, missing);
    else if (args.mustExist && missing.length > 0) throw unknownObjects(type, missing, existing);
    const names = [...existing, ...missing, ...('rename' in args ? [args.rename] : [])];
    return { objects: existing, missing, nodes: yield* policyNodesInSlices(snapshot, type, names, ranges.sees) };
  },
  /** Each object is judged by what is said of it alone. */
  questions: (snapshot, args) =>
    'definitions' in args ? questionsOfAll(snapshot, typeNamed(args.type), args.definitions) : undefined,
  *plan(draft, args, scope): Interruptible<Answer> {
    const type = typeNamed(args.type);
    if ('definitions' in args) yield* defineAll(draft, type, args.definitions, scope);
    else if ('rename' in args) rename(draft, type, args, scope);
    else yield* changeAlike(draft, type, args, scope);
    return type.name === 'site' ? { shape: 'none', messages: lifetimeMessages(draft) } : nothing;
  },
});

function partition(
  definitions: Readonly<Record<string, unknown>>,
  exists: (name: string) => boolean,
): { existing: string[]; missing: string[] } {
  const existing: string[] = [];
  const missing: string[] = [];
  for (const name of Object.keys(definitions)) (exists(name) ? existing : missing).push(name);
  return { existing, missing };
}

function* changeAlike(
  draft: Draft,
  type: ObjectType,
  { names, attributes, mode = 'set' }: Changed,
  { ranges, selection }: Scope,
): Interruptible<void> {
  checkAttributeNames(type, attributes);
  if (type.name === 'site') return changeObject(draft, type, names, attributes, mode, ranges);
  const { objects: existing = [], missing = [] } = selection;
  yield* eachInSlices(existing, (name) => changeObject(draft, type, name, attributes, mode, ranges));
  yield* eachInSlices(missing, (name) => createObject(draft, type, name, attributes, ranges));
}

function rename(draft: Draft, type: ObjectType, args: { names: string; rename: string }, { selection }: Scope): void {
  const [node, ...more] = selection.objects ?? [];
  if (node === undefined || more.length > 0)
    throw new Fault('invalid', `"${args.names}" must name one ${type.name} to rename.`);
  if (type.name === 'node') refuseWithMachine(draft.base, node);
  renameObject(draft, type, node, args.rename);
}

function* questionsOfAll(
  snapshot: Snapshot,
  type: ObjectType,
  definitions: Definitions,
): Interruptible<readonly Question[]> {
  const questions: Question[] = [];
  yield* eachInSlices(Object.keys(definitions), (name) => {
    const words = definitionWords(type.name, name, definitions[name]);
    questions.push({ words, objects: [name], nodes: policyNodes(snapshot, type, [name]) });
  });
  return questions;
}

function* wordsOfAll(type: string, definitions: Definitions): Interruptible<string[]> {
  const words: string[] = [];
  yield* eachInSlices(Object.keys(definitions), (name) => {
    words.push(...definitionWords(type, name, definitions[name]));
  });
  return words;
}

/** Values that are already in effect are not changed, so that writing back what was read copies no group's value to its nodes. */
function* defineAll(
  draft: Draft,
  type: ObjectType,
  definitions: Definitions,
  { ranges, selection }: Scope,
): Interruptible<void> {
  yield* eachInSlices(Object.values(definitions), (given) => checkAttributeNames(type, given));
  yield* eachInSlices(selection.objects ?? [], (name) => {
    const current = objectAttributes(draft.base, type, name);
    const changed = Object.entries(definitions[name]!).filter(
      ([attribute, value]) => value !== (current[attribute] ?? ''),
    );
    if (changed.length > 0) changeObject(draft, type, name, Object.fromEntries(changed), 'set', ranges);
  });
  yield* eachInSlices(selection.missing ?? [], (name) => createObject(draft, type, name, definitions[name]!, ranges));
}
