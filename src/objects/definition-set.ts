import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { RangeOptions } from './cluster.ts';
import type { Given } from './define.ts';
import { siteObject } from './definitions.ts';
import { namedObjects, policyNodesInSlices } from './select.ts';
import { attributeWords, definitionWords } from './shown-arguments.ts';
import { type ObjectType, tablesBehind, typeNamed } from './types.ts';

/** Objects of one type that are written alike; a set of them may be of several types, and is one change. */
export interface Definition {
  readonly type: string;
  /** A range, or a list of names. */
  readonly names: string;
  readonly attributes: Given;
}

/** A definition whose objects were looked up. */
export interface Resolved {
  readonly type: ObjectType;
  readonly existing: readonly string[];
  readonly missing: readonly string[];
  readonly attributes: Given;
}

export function resolved(
  snapshot: Snapshot,
  { type: typeName, names, attributes }: Definition,
  ranges: RangeOptions,
  mostUnknown?: number,
): Resolved {
  const type = typeNamed(typeName);
  if (type.name === 'site') return { type, existing: [siteObject], missing: [], attributes };
  return { type, ...namedObjects(snapshot, type, names, ranges, mostUnknown), attributes };
}

/** The objects of a set, and the nodes that the policy is asked about. */
export function* selectionOf(snapshot: Snapshot, set: readonly Resolved[], sees: RangeOptions['sees']) {
  const objects: string[] = [];
  const missing: string[] = [];
  const nodes = new Set<string>();
  for (const each of set) {
    objects.push(...each.existing);
    missing.push(...each.missing);
    const asked = yield* policyNodesInSlices(snapshot, each.type, [...each.existing, ...each.missing], sees);
    for (const node of asked ?? []) nodes.add(node);
    yield;
  }
  return { objects, missing, nodes: nodes.size > 0 ? [...nodes] : undefined };
}

/** What the reference system would be called with for one definition. */
const wordsOf = ({ type, names, attributes }: Definition, flags: readonly string[]): string[] =>
  type === 'site'
    ? ['-t', 'site', ...flags, ...attributeWords(type, attributes)]
    : definitionWords(type, names, attributes, flags);

export function* wordsOfSet(set: readonly Definition[], flags: readonly string[]): Interruptible<string[]> {
  const words: string[] = [];
  yield* eachInSlices(set, (each) => {
    words.push(...wordsOf(each, flags));
  });
  return words;
}

/** Each definition is judged by what is said of it alone. */
export function* questionsOfSet(
  snapshot: Snapshot,
  set: readonly Definition[],
  flags: readonly string[],
  ranges: RangeOptions = {},
) {
  const questions: { words: string[]; objects: string[]; nodes: readonly string[] | undefined }[] = [];
  for (const each of set) {
    const { type, existing, missing } = resolved(snapshot, each, ranges);
    const objects = [...existing, ...missing];
    const nodes = yield* policyNodesInSlices(snapshot, type, objects);
    questions.push({ words: wordsOf(each, flags), objects, nodes });
    yield;
  }
  return questions;
}

/** The tables that a reading of the objects shows. */
export const tablesOfSet = (set: readonly Definition[]): readonly string[] => [
  ...new Set(set.flatMap(({ type }) => tablesBehind(typeNamed(type)))),
];
