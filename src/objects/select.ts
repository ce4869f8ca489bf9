import { Fault } from '../core/errors.ts';
import { isNodeName } from '../core/object-names.ts';
import { atOnce, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { expandRange, mostUnknownNames, type RangeOptions } from './cluster.ts';
import { objectExists } from './definitions.ts';
import { listItems } from '../core/list-items.ts';
import { ownersNamed } from './groups.ts';
import { groupType, nodeType, type ObjectType } from './types.ts';

const mostSentences = 20;

/** Nodes of a request that cannot be served while the others are, and why. */
export class RefusedNodes {
  readonly #sentences = new Map<string, readonly string[]>();
  #advice: string | undefined;

  has(node: string): boolean {
    return this.#sentences.has(node);
  }

  /** What is wrong with the node; empty: nothing. */
  sentencesOf(node: string): readonly string[] {
    return this.#sentences.get(node) ?? [];
  }

  get size(): number {
    return this.#sentences.size;
  }

  /** What is said last, whatever else is left out. */
  advise(sentence: string): void {
    this.#advice = sentence;
  }

  refuse(node: string, sentences: readonly string[]): void {
    this.#sentences.set(node, [...(this.#sentences.get(node) ?? []), ...sentences]);
  }

  /** Throws what is to be said, if there is anything. */
  tell(): void {
    if (this.#sentences.size === 0) return;
    // What is wrong with the site or a network is wrong with each of its nodes.
    const all = [...new Set([...this.#sentences.values()].flat())];
    const shown = all.slice(0, mostSentences);
    if (all.length > shown.length) shown.push(`${all.length - shown.length} more sentences like these are left out.`);
    throw new Fault('invalid', this.#advice === undefined ? shown : [...shown, this.#advice]);
  }
}

/** Does something for a node. What is refused is noted if there is where, and the answer is false. */
export function attemptFor(refused: RefusedNodes | undefined, node: string, work: () => void): boolean {
  if (!refused) {
    work();
    return true;
  }
  if (refused.has(node)) return false;
  try {
    work();
    return !refused.has(node);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    refused.refuse(node, error.sentences);
    return false;
  }
}

/** The objects a path names, apart by whether they exist. */
interface NamedObjects {
  readonly existing: readonly string[];
  readonly missing: readonly string[];
}

/** Node paths are ranges, all others comma lists of names. */
export function namedObjects(
  snapshot: Snapshot,
  type: ObjectType,
  text: string,
  ranges: RangeOptions,
  mostUnknown?: number,
): NamedObjects {
  // A regular expression means the nodes it matches; every other unknown text may be the name of a node to come.
  const verify = text.startsWith('/');
  const names =
    type.name === 'node'
      ? expandRange(snapshot, text, { ...ranges, verify, mostUnknown })
      : { nodes: [...new Set(listItems(text))].sort(), missed: [] };
  const existing: string[] = [];
  const missing = [...names.missed];
  for (const name of names.nodes) (objectExists(snapshot, type, name) ? existing : missing).push(name);
  return { existing, missing };
}

/** The named objects, all of which must exist. */
export function existingObjects(
  snapshot: Snapshot,
  type: ObjectType,
  text: string,
  ranges: RangeOptions,
): readonly string[] {
  const { existing, missing } = namedObjects(snapshot, type, text, ranges, mostUnknownNames);
  if (missing.length > 0) throw unknownObjects(type, missing, existing);
  return existing;
}

const maximumSentences = 20;

export function unknownObjects(
  type: ObjectType,
  missing: readonly string[],
  existing: readonly string[] = [],
  inReference = (name: string): string => `Could not find an object named '${name}' of type '${type.name}'.`,
): Fault {
  const sentences = missing.slice(0, maximumSentences).map((name) => `There is no ${type.name} named "${name}".`);
  if (missing.length > maximumSentences) sentences.push(`${missing.length - maximumSentences} more are unknown.`);
  const about = type === nodeType ? [...existing, ...missing] : type === groupType ? missing : undefined;
  const reference = missing.slice(0, maximumSentences).map(inReference);
  return new Fault('unknown-object', sentences, { missing, reference, ...(about ? { about } : {}) });
}

export const emptyRange = (text: string): Fault =>
  new Fault('invalid', `"${text}" selects nothing.`, { reference: ['No object names were provided.'] });

/** True if every name is one that a new node could have. */
export const allNewNodes = (names: readonly string[]): boolean => names.every(isNodeName);

/** The nodes a policy is asked about when these objects are read or written. */
export function* policyNodesInSlices(
  snapshot: Snapshot,
  type: ObjectType,
  names: readonly string[],
  sees?: RangeOptions['sees'],
): Interruptible<readonly string[] | undefined> {
  return type === groupType ? yield* ownersInSlices(snapshot, names, sees) : type === nodeType ? names : undefined;
}

/** What a reading of objects is about. Of a node, which most are about, it is there at once. */
export const readSelection = (
  snapshot: Snapshot,
  type: ObjectType,
  objects: readonly string[],
  sees?: RangeOptions['sees'],
): Selection | Interruptible<Selection> =>
  type === groupType
    ? readGroups(snapshot, objects, sees)
    : { objects, nodes: type === nodeType ? objects : undefined };

function* readGroups(
  snapshot: Snapshot,
  objects: readonly string[],
  sees: RangeOptions['sees'],
): Interruptible<Selection> {
  return { objects, nodes: yield* ownersInSlices(snapshot, objects, sees) };
}

interface Selection {
  readonly objects: readonly string[];
  readonly nodes: readonly string[] | undefined;
}

function* ownersInSlices(
  snapshot: Snapshot,
  names: readonly string[],
  sees: RangeOptions['sees'],
): Interruptible<readonly string[]> {
  const nodes = new Set<string>();
  for (const group of names) {
    const owners = ownersNamed(snapshot, group);
    // A group of others is refused by its name, as one that does not exist is.
    if (sees && !owners.some(sees)) nodes.add(group);
    for (const node of owners) nodes.add(node);
    yield;
  }
  return [...nodes];
}

/** The same for few objects. */
export const policyNodes = (
  snapshot: Snapshot,
  type: ObjectType,
  names: readonly string[],
): readonly string[] | undefined => atOnce(policyNodesInSlices(snapshot, type, names));
