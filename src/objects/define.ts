import { Fault } from '../core/errors.ts';
import type { Draft } from '../database/draft.ts';
import { isCalledSecret } from '../database/secret-columns.ts';
import type { Snapshot } from '../database/snapshot.ts';
import {
  isEnabled,
  keyOf,
  nodeTables,
  type Row,
  rowsOfNodePrefix,
  type Table,
  tableNamed,
} from '../database/tables.ts';
import { appended, assign, type Assignment, indivisible, inReference, type Mode, without } from './assign.ts';
import { expandRange, knownNodes, mostUnknownNames, type RangeOptions } from './cluster.ts';
import { namingColumn, objectExists, rowOf } from './definitions.ts';
import { listItems } from '../core/list-items.ts';
import { groupExists, groupRow, isDynamic, parseSelections, staticMembers } from './groups.ts';
import { checkObjectName } from './names.ts';
import { checkGateway } from './networks.ts';
import { attributeNamed, nodeType, type ObjectType } from './types.ts';

/** Makes the given range the group's members, or adds it to them, or takes it from them. */
function assignMembers(draft: Draft, group: string, range: string, mode: Mode, options: RangeOptions): void {
  const named = new Set(range.trim() === '' ? [] : knownNodes(draft.base, range, options));
  const groupsOf = (node: string) => listItems(draft.get('nodelist', node)?.['groups'] ?? '');
  const present = new Set(staticMembers(draft.base, group).filter((node) => groupsOf(node).includes(group)));
  if (mode === 'remove') {
    for (const node of named) {
      if (!present.has(node)) throw new Fault('invalid', `${node} is not a member of group "${group}".`);
      leaveGroup(draft, node, group);
    }
    return;
  }
  if (mode === 'set') for (const node of present) if (!named.has(node)) leaveGroup(draft, node, group);
  for (const node of named) if (!present.has(node)) joinGroup(draft, node, group);
}

/** The nodes of a range, apart from the names that no node has. */
export function knownMembers(
  snapshot: Snapshot,
  range: string,
  options: RangeOptions,
): { known: readonly string[]; unknown: readonly string[] } {
  const { nodes, missed } = expandRange(snapshot, range, { ...options, mostUnknown: mostUnknownNames });
  return { known: nodes, unknown: missed };
}

/** A joined group comes last, so that it gives way to the node's other groups. */
function joinGroup(draft: Draft, node: string, group: string): void {
  const groups = listItems(draft.get('nodelist', node)?.['groups'] ?? '');
  draft.merge('nodelist', node, { groups: [...groups, group].join(',') });
}

function leaveGroup(draft: Draft, node: string, group: string): void {
  const groups = listItems(draft.get('nodelist', node)?.['groups'] ?? '');
  draft.merge('nodelist', node, { groups: groups.filter((name) => name !== group).join(',') });
}

export type Given = Readonly<Record<string, string>>;

/** Refuses attribute names the type does not have, before anything is written. */
export function checkAttributeNames(type: ObjectType, attributes: Given, reads = false): void {
  if (type.name === 'site') return;
  const problems = Object.keys(attributes).flatMap((name) => {
    try {
      attributeNamed(type, name);
      return [];
    } catch (error) {
      return error as Fault;
    }
  });
  if (problems.length === 0) return;
  const reference = problems.flatMap((problem) => [
    ...(problem.reference ?? []),
    ...(reads ? [] : ['Skipping to the next attribute.']),
  ]);
  throw new Fault(
    'invalid',
    problems.flatMap(({ sentences }) => sentences),
    { reference, missing: problems.flatMap(({ missing = [] }) => missing) },
  );
}

/** What the reference system says of a node that it cannot make. */
export const lacksGroups = (name: string): string =>
  `Attribute 'groups' is not specified for node '${name}', skipping to the next node.`;

/** Writes a new object. */
export function createObject(
  draft: Draft,
  type: ObjectType,
  name: string,
  attributes: Given,
  ranges: RangeOptions,
): void {
  checkObjectName(type, name);
  if (type.name === 'node' && listItems(attributes['groups'] ?? '').length === 0) {
    throw new Fault(
      'invalid',
      `Node "${name}" needs the attribute groups, for example {"groups":"all"}.`,
      inReference(lacksGroups(name)),
    );
  }
  dropDisabledRow(draft, type, name);
  if (type.name === 'network') checkNewNetwork(draft, name, attributes);
  const assignment: Assignment = { type, name, attributes, mode: 'set', fresh: true, sees: ranges.sees };
  if (type.name === 'group') return writeGroup(draft, assignment, ranges);
  const { table, column } = type.home;
  // The object exists through its row in the home table, also if none of its attributes are stored there.
  if (type.name !== 'node' && tableNamed(table).keys.join() === column) draft.merge(table, name, { [column]: name });
  assign(draft, assignment);
}

/** A disabled row is no object, and what is made in its place must not be disabled by it. */
function dropDisabledRow(draft: Draft, type: ObjectType, name: string): void {
  const row = rowOf(draft.base, type, type.home, name, draft);
  if (row && !isEnabled(row)) draft.remove(type.home.table, keyOf(tableNamed(type.home.table), row));
}

/** Changes an existing object. */
export function changeObject(
  draft: Draft,
  type: ObjectType,
  name: string,
  attributes: Given,
  mode: Mode,
  ranges: RangeOptions,
): void {
  const assignment: Assignment = { type, name, attributes, mode, fresh: false, sees: ranges.sees };
  if (type.name === 'site') changeSite(draft, assignment);
  else if (type.name === 'group') writeGroup(draft, assignment, ranges);
  else {
    if (type.name === 'network') checkChangedNetwork(draft, assignment);
    assign(draft, assignment);
  }
}

/** What is not given is not looked at: a network that was stored long ago can be changed in other ways. */
function checkChangedNetwork(draft: Draft, { type, name, attributes, mode }: Assignment): void {
  const { net, mask, gateway } = attributes;
  if (net === '' || mask === '')
    throw new Fault('invalid', `Network "${name}" needs its net and mask; they can be changed but not cleared.`);
  // Where only the rest changes, the gateway may follow in the next request; a note says so.
  if (mode === 'set' && gateway !== undefined)
    checkGateway(name, { ...rowOf(draft.base, type, type.home, name, draft), ...attributes });
}

function checkNewNetwork(draft: Draft, name: string, attributes: Given): void {
  const { net, mask } = attributes;
  if (!net || !mask)
    throw new Fault(
      'invalid',
      `Network "${name}" needs the attributes net and mask.`,
      inReference(`Net or mask value should not be empty for xCAT network object '${name}'.`),
    );
  const taken = draft.get('networks', keyOf(tableNamed('networks'), { net, mask }));
  if (taken) {
    throw new Fault(
      'invalid',
      `Network "${taken['netname'] ?? ''}" already has net ${net} and mask ${mask}; "${name}" cannot have them too.`,
      inReference(
        `A network definition called '${taken['netname'] ?? ''}' already exists that contains the same net and mask values. Cannot create a definition for '${name}'.`,
      ),
    );
  }
  checkGateway(name, attributes);
}

const siteName = /^[\w.:-]+$/;

function changeSite(draft: Draft, assignment: Assignment): void {
  for (const [key, given] of Object.entries(assignment.attributes)) {
    if (!siteName.test(key) && !draft.get('site', key))
      throw new Fault(
        'invalid',
        `${JSON.stringify(key)} cannot be the name of a site attribute: use letters, digits, _, ., : and - only.`,
      );
    if (assignment.mode !== 'set' && isCalledSecret(key)) throw indivisible(key);
    const value = combined(draft, assignment, key, given);
    if (value === '') {
      if (draft.get('site', key)) draft.remove('site', key);
    } else draft.merge('site', key, { key, value });
  }
}

function combined(draft: Draft, assignment: Assignment, attribute: string, given: string): string {
  if (assignment.mode === 'append') return appended(draft, assignment, attribute, given);
  if (assignment.mode === 'remove') return without(draft, assignment, attribute, given);
  return given.trimStart();
}

function writeGroup(draft: Draft, assignment: Assignment, ranges: RangeOptions): void {
  const { name, mode, fresh } = assignment;
  const { members, grouptype, wherevals, ...attributes } = assignment.attributes;
  if (grouptype && grouptype !== 'static' && grouptype !== 'dynamic') {
    throw new Fault('invalid', `Group "${name}": "${grouptype}" is not a type of group; give static or dynamic.`);
  }
  const existing = fresh ? undefined : groupRow(draft.base, name);
  const dynamic =
    grouptype === undefined ? isDynamic(existing) || (wherevals !== undefined && !existing) : grouptype === 'dynamic';
  if (dynamic) {
    if (Object.keys(attributes).some((attribute) => attribute !== 'usercomment') || members) {
      throw new Fault(
        'invalid',
        `Group "${name}" is dynamic: it has a selection (wherevals) and can have no members or attributes of its own.`,
        inReference(`Can not assign attributes to dynamic node group '${name}'.`),
      );
    }
    const selection =
      wherevals === undefined ? existing?.['wherevals'] : combined(draft, assignment, 'wherevals', wherevals);
    if (!selection) {
      throw new Fault('invalid', `Dynamic group "${name}" needs a selection, for example {"wherevals":"mgt==ipmi"}.`);
    }
    parseSelections(selection, name);
    draft.merge('nodegroup', name, { groupname: name, grouptype: 'dynamic', members: 'dynamic', wherevals: selection });
  } else {
    if (wherevals)
      throw new Fault(
        'invalid',
        `Group "${name}" is static: give {"grouptype":"dynamic"} to select its members by wherevals.`,
      );
    if (fresh || isDynamic(existing)) {
      const row = {
        groupname: name,
        grouptype: 'static',
        members: members ? 'static' : undefined,
        wherevals: undefined,
      };
      draft.merge('nodegroup', name, row);
    } else if (members !== undefined && mode !== 'remove') {
      draft.merge('nodegroup', name, { groupname: name, members: 'static' });
    } else if (members !== undefined && existing) draft.merge('nodegroup', name, { members: '' });
    if (members !== undefined) assignMembers(draft, name, members, mode, ranges);
  }
  if (Object.keys(attributes).length > 0) assign(draft, { ...assignment, attributes });
}

/** Removes the object with all its rows. */
export function removeObject(draft: Draft, type: ObjectType, name: string): void {
  if (type.name === 'node') removeRows(draft, nodeRowTables, name);
  else if (type.name === 'group') removeGroup(draft, name);
  else if (type.name === 'site') for (const key of draft.base.rows('site').keys()) draft.remove('site', key);
  else {
    for (const table of type.tables) {
      const row = rowOf(draft.base, type, { table, column: '' }, name, draft);
      if (row) draft.remove(table, keyOf(tableNamed(table), row));
    }
  }
}

/** Tables with rows that go when their node goes. Those keyed by other names belong to other things. */
export const nodeRowTables = nodeTables.filter((table) => table.nodeColumn === 'node' || nodeType.uses.has(table.name));

export function rowsNamed(draft: Draft, table: Table, name: string): Row[] {
  if (table.keys.length > 1) return draft.base.rows(table.name).startingWith(rowsOfNodePrefix(name));
  const row = draft.get(table.name, name);
  return row ? [row] : [];
}

function removeRows(draft: Draft, from: readonly Table[], name: string): void {
  for (const table of from)
    for (const row of rowsNamed(draft, table, name)) draft.remove(table.name, keyOf(table, row));
}

function removeGroup(draft: Draft, name: string): void {
  for (const node of staticMembers(draft.base, name)) leaveGroup(draft, node, name);
  if (draft.get('nodegroup', name)) draft.remove('nodegroup', name);
  // A node of the same name shares these rows and keeps them.
  if (!objectExists(draft.base, nodeType, name)) removeRows(draft, nodeRowTables, name);
}

/** Gives the object another name in its rows. References to it in other rows stay as they are. */
export function renameObject(draft: Draft, type: ObjectType, from: string, to: string): void {
  checkObjectName(type, to);
  const reference = [`Object ${to} already exists.`];
  if (objectExists(draft.base, type, to))
    throw new Fault('invalid', `There is a ${type.name} named "${to}" already.`, { reference });
  if (type.name === 'site') throw new Fault('invalid', 'There is only one site, and it cannot be renamed.');
  if (type.name === 'node') return renameNode(draft, from, to);
  if (type.name === 'group') return renameGroup(draft, from, to);
  for (const table of type.tables) {
    const row = rowOf(draft.base, type, { table, column: '' }, from, draft);
    if (!row) continue;
    draft.remove(table, keyOf(tableNamed(table), row));
    draft.putStored(table, { ...row, [namingColumn(type, tableNamed(table))]: to });
  }
}

/** Nodes go on naming the group they named: who wants them in the new one says so. */
function renameGroup(draft: Draft, from: string, to: string): void {
  if (objectExists(draft.base, nodeType, to)) throw new Fault('invalid', `"${to}" is the name of a node.`);
  const row = draft.get('nodegroup', from);
  if (row) {
    draft.remove('nodegroup', from);
    draft.putStored('nodegroup', { ...row, groupname: to });
  }
  if (!objectExists(draft.base, nodeType, from)) renameRows(draft, from, to);
}

function renameNode(draft: Draft, from: string, to: string): void {
  // A group keeps its attributes in the same rows.
  if (groupExists(draft.base, to)) throw new Fault('invalid', `"${to}" is the name of a group.`);
  renameRows(draft, from, to);
}

function renameRows(draft: Draft, from: string, to: string): void {
  for (const table of nodeRowTables) {
    for (const row of rowsNamed(draft, table, from)) {
      draft.remove(table.name, keyOf(table, row));
      draft.putStored(table.name, { ...row, [table.nodeColumn!]: to });
    }
  }
}
