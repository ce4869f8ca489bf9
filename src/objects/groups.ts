import { cachedBy } from '../core/cache.ts';
import { Fault } from '../core/errors.ts';
import { compilePattern, PatternAllowance } from '../core/patterns.ts';
import { atOnce, eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { SortedMap } from '../database/sorted-map.ts';
import { isEnabled, type Row } from '../database/tables.ts';
import { listItems } from '../core/list-items.ts';
import { effectiveReader } from './effective.ts';
import { nodeAttribute } from './node-attributes.ts';
import { attributeNamed, isSecret, nodeType } from './types.ts';

/** Members by group; the value of a member says whether it is hidden. */
type GroupIndex = SortedMap<SortedMap<boolean>>;

const isHidden = (row: Row): boolean => row['hidden'] === '1' || row['hidden']?.toLowerCase() === 'yes';

const indexes = new WeakMap<SortedMap<Row>, GroupIndex>();
/** The last index made of a state that was current: the next one is computed from what differs, whichever snapshot it is for. */
let latest: { rows: SortedMap<Row>; index: GroupIndex } = { rows: SortedMap.empty(), index: SortedMap.empty() };

function groupIndex(snapshot: Snapshot): GroupIndex {
  const rows = snapshot.rows('nodelist');
  let index = indexes.get(rows);
  if (!index) {
    indexes.set(rows, (index = latest.rows.size === 0 ? firstIndex(rows) : nextIndex(rows)));
    if (!snapshot.isPast) latest = { rows, index };
  }
  return index;
}

/** Finds out who is in which group: it takes its time for the first who asks. */
export const indexGroups = (snapshot: Snapshot): void => void groupIndex(snapshot);

/** Rows come in the order of their nodes, so the members of each group do. */
function firstIndex(rows: SortedMap<Row>): GroupIndex {
  const groups = new Map<string, { readonly nodes: string[]; readonly hidden: boolean[] }>();
  rows.forEach((row, node) => {
    for (const group of membership(row)) {
      let members = groups.get(group);
      if (!members) groups.set(group, (members = { nodes: [], hidden: [] }));
      // A node may name a group twice.
      if (members.nodes.at(-1) === node) continue;
      members.nodes.push(node);
      members.hidden.push(isHidden(row));
    }
  });
  return SortedMap.fromEntries(
    [...groups].map(([group, { nodes, hidden }]) => [group, SortedMap.fromSorted(nodes, hidden)]),
  );
}

function nextIndex(rows: SortedMap<Row>): GroupIndex {
  const changes = new Map<string, Map<string, boolean | undefined>>();
  const note = (group: string, node: string, hidden: boolean | undefined): void => {
    let members = changes.get(group);
    if (!members) changes.set(group, (members = new Map()));
    members.set(node, hidden);
  };
  for (const node of SortedMap.changedKeys(latest.rows, rows)) {
    const before = latest.rows.get(node);
    const row = rows.get(node);
    // In most rows only a status differs, and in those of the past it is absent from all.
    if (before && row && sameMembership(before, row)) continue;
    for (const group of membership(before)) note(group, node, undefined);
    for (const group of membership(row)) note(group, node, isHidden(row!));
  }
  const changed = new Map<string, SortedMap<boolean> | undefined>();
  for (const [group, members] of changes) {
    const next = (latest.index.get(group) ?? SortedMap.empty<boolean>()).with(members);
    changed.set(group, next.size > 0 ? next : undefined);
  }
  return latest.index.with(changed);
}

const sameMembership = (a: Row, b: Row): boolean =>
  a['groups'] === b['groups'] && isHidden(a) === isHidden(b) && isEnabled(a) === isEnabled(b);

/** Whether both have the same nodes in the same groups, whatever else differs. */
export function haveSameMembers(a: Snapshot, b: Snapshot): boolean {
  const [before, after] = [a.rows('nodelist'), b.rows('nodelist')];
  return SortedMap.changedKeys(before, after).every((node) => {
    const [old, row] = [before.get(node), after.get(node)];
    return old !== undefined && row !== undefined && sameMembership(old, row);
  });
}

const membership = (row: Row | undefined): readonly string[] =>
  row && isEnabled(row) ? listItems(row['groups'] ?? '') : [];

const allIn = cachedBy((rows: SortedMap<Row>): readonly string[] => rows.keysWhere(isEnabled));
const visibleIn = cachedBy((rows: SortedMap<Row>): readonly string[] => {
  const visible = rows.keysWhere((row) => isEnabled(row) && !isHidden(row));
  return visible.length === allIn(rows).length ? allIn(rows) : visible;
});
const visibleMembers = cachedBy((members: SortedMap<boolean>): readonly string[] =>
  members.keysWhere((hidden) => !hidden),
);

/** All nodes, hidden ones too, in byte order. */
export const allNodes = (snapshot: Snapshot): readonly string[] => allIn(snapshot.rows('nodelist'));

/** All nodes but hidden ones, in byte order. */
export const visibleNodes = (snapshot: Snapshot): readonly string[] => visibleIn(snapshot.rows('nodelist'));

const valuesByName = cachedBy<Snapshot, Map<string, readonly string[]>>(() => new Map());

/**
 * What all nodes have under a name, in their order, '' for nothing. It is read once for a snapshot: hundreds of rules and groups choose
 * their nodes by the same few columns.
 */
export const valuesOfAll = (
  snapshot: Snapshot,
  name: string,
  valueOf: (node: string) => string | undefined,
): readonly string[] => atOnce(readValuesOfAll(snapshot, name, valueOf));

/** The same with pauses, for who asks about many nodes and can wait. */
export function* readValuesOfAll(
  snapshot: Snapshot,
  name: string,
  valueOf: (node: string) => string | undefined,
): Interruptible<readonly string[]> {
  const cache = valuesByName(snapshot);
  const known = cache.get(name);
  if (known) return known;
  const values: string[] = [];
  yield* eachInSlices(allNodes(snapshot), (node) => values.push(valueOf(node) ?? ''));
  cache.set(name, values);
  return values;
}

/** Names of all groups: those nodes name and those defined by themselves. */
export function groupNames(snapshot: Snapshot): string[] {
  const names = new Set(groupIndex(snapshot).keys());
  for (const [name, row] of snapshot.rows('nodegroup').entries()) if (isEnabled(row)) names.add(name);
  return [...names].sort();
}

export function groupRow(snapshot: Snapshot, group: string): Row | undefined {
  const row = snapshot.get('nodegroup', group);
  return row && isEnabled(row) ? row : undefined;
}

export const isDynamic = (row: Row | undefined): boolean => row?.['grouptype'] === 'dynamic';

export const groupExists = (snapshot: Snapshot, group: string): boolean =>
  groupRow(snapshot, group) !== undefined || groupIndex(snapshot).has(group);

/** Every member of a static group, hidden ones too. */
export function staticMembers(snapshot: Snapshot, group: string): string[] {
  return groupIndex(snapshot).get(group)?.keys() ?? [];
}

/** Every member of a group of either kind, hidden ones too, in byte order. */
export function allMembers(snapshot: Snapshot, group: string): readonly string[] {
  const row = groupRow(snapshot, group);
  return isDynamic(row) ? dynamicMembers(snapshot, group, row!['wherevals'] ?? '') : staticMembers(snapshot, group);
}

/** The nodes that rows under a name belong to: the node itself, and the group's members. A name that is nobody's stands for itself. */
export function ownersNamed(snapshot: Snapshot, name: string): readonly string[] {
  const own = snapshot.get('nodelist', name) ? [name] : [];
  const owners = [...own, ...allMembers(snapshot, name)];
  return owners.length > 0 ? owners : [name];
}

const wholly = new WeakMap<(node: string) => boolean, Map<string, boolean>>();

/**
 * Whether all nodes that rows under a name belong to are seen. Thousands of nodes name the same groups of thousands, so what was found is
 * kept with `sees`, which is one of this snapshot.
 */
export function seesOwners(snapshot: Snapshot, name: string, sees: (node: string) => boolean): boolean {
  let found = wholly.get(sees);
  if (!found) wholly.set(sees, (found = new Map()));
  let isSeen = found.get(name);
  if (isSeen === undefined) found.set(name, (isSeen = ownersNamed(snapshot, name).every(sees)));
  return isSeen;
}

/** Members in byte order, hidden ones left out; undefined if there is no such group. */
export function groupMembers(snapshot: Snapshot, group: string): readonly string[] | undefined {
  const row = groupRow(snapshot, group);
  if (isDynamic(row)) {
    const rows = snapshot.rows('nodelist');
    return allMembers(snapshot, group).filter((node) => !isHidden(rows.get(node)!));
  }
  const members = groupIndex(snapshot).get(group);
  if (members) return visibleMembers(members);
  return row ? [] : undefined;
}

interface Selection {
  readonly attribute: string;
  readonly holds: (value: string) => boolean;
}

/** One condition of a dynamic group, `attribute op value`. */
function parseSelection(text: string, group: string, patterns = new PatternAllowance()): Selection {
  const match = /^\s*([A-Za-z][\w.-]*)\s*(==|=~|!=|!~|=)(.*)$/.exec(text);
  if (!match) {
    throw new Fault(
      'invalid',
      `Group "${group}": "${text}" is not a selection; write attribute==value, !=, =~ or !~, and join several with "::".`,
    );
  }
  const [, attribute, operator, value] = match as unknown as [string, string, string, string];
  if (attribute !== 'node' && attributeNamed(nodeType, attribute).at.some(isSecret))
    throw new Fault('invalid', `Group "${group}": ${attribute} is secret and cannot select nodes.`);
  if (operator === '==' || operator === '=') return { attribute, holds: (actual) => actual === value };
  if (operator === '!=') return { attribute, holds: (actual) => actual !== value };
  const pattern = compilePattern(value.replace(/^\/(.*)\/$/, '$1'), `Group "${group}"`, patterns);
  return { attribute, holds: (actual) => pattern.test(actual) === (operator === '=~') };
}

/** Their patterns share one allowance. */
export function parseSelections(text: string, group: string): Selection[] {
  const patterns = new PatternAllowance();
  return text.split('::').flatMap((part) => (part.trim() === '' ? [] : parseSelection(part, group, patterns)));
}

/** A stored selection that cannot be understood selects nothing, so that one such group does not keep others from being read. */
function storedSelections(text: string, group: string): Selection[] {
  try {
    return parseSelections(text, group);
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}

/** Members of dynamic groups by their names. */
const dynamicCache = cachedBy<Snapshot, Map<string, readonly string[]>>(() => new Map());

function dynamicMembers(snapshot: Snapshot, group: string, wherevals: string): readonly string[] {
  const cache = dynamicCache(snapshot);
  let members = cache.get(group);
  if (!members) {
    const reader = effectiveReader(snapshot);
    const tests = storedSelections(wherevals, group).map(({ attribute, holds }) => {
      const values = valuesOfAll(snapshot, attribute, (node) =>
        attribute === 'node' ? node : nodeAttribute(reader, node, attribute),
      );
      return (at: number): boolean => values[at] !== '' && holds(values[at]!);
    });
    members = tests.length === 0 ? [] : allNodes(snapshot).filter((_, at) => tests.every((holds) => holds(at)));
    cache.set(group, members);
  }
  return members;
}
