import { Fault } from '../core/errors.ts';
import type { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { keyOf, type Row, tableNamed } from '../database/tables.ts';
import { namingColumn, rowOf, storedAttribute } from './definitions.ts';
import type { RangeOptions } from './cluster.ts';
import { listItems } from '../core/list-items.ts';
import { effectiveReader } from './effective.ts';
import { seesOwners } from './groups.ts';
import { checkGroupName } from './names.ts';
import { defaultScripts, namesNics, nicParts, nodeAttribute } from './node-attributes.ts';
import {
  type Attribute,
  attributeNamed,
  groupType,
  hasWord,
  isNicAttribute,
  isSecret,
  type Mapping,
  type ObjectType,
  splitNic,
} from './types.ts';

/** How given values meet stored ones: replace them, add to a list, take from a list. */
export type Mode = 'set' | 'append' | 'remove';

export interface Assignment {
  readonly type: ObjectType;
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly mode: Mode;
  /** The object is new, or replaced: what was stored under its name does not count. */
  readonly fresh: boolean;
  /** Which nodes the author may know of; groups with others in them are not looked at. Undefined: all. */
  readonly sees?: RangeOptions['sees'];
}

/** A row to write: the columns that identify it, and those that are given. */
interface Target {
  readonly table: string;
  readonly key: string;
  readonly before: Row | undefined;
  readonly identity: Readonly<Record<string, string>>;
  readonly values: Record<string, string>;
}

/** How the reference system ends what it says of a single object. */
const oneOrMore = 'One or more errors occured when attempting to create or modify xCAT object definitions.';

export const inReference = (sentence: string) => ({ reference: [sentence, oneOrMore] });

/** Writes attributes of one object into the draft. Names were checked; every value goes to its table or the whole is refused. */
export function assign(draft: Draft, assignment: Assignment): void {
  const targets = new Map<string, Target>();
  for (const [name, given] of Object.entries(assignment.attributes)) {
    const attribute = attributeNamed(assignment.type, name);
    const value = newValue(draft, assignment, attribute, name, given);
    const chosen = chooseMapping(draft.base, assignment, attribute);
    if (!chosen && value !== '') throw unmetCondition(assignment, attribute);
    // What is cleared when no condition holds any more is cleared wherever it may stand.
    for (const mapping of chosen ? [chosen] : attribute.at) {
      const found = targetOf(draft, assignment, mapping);
      const id = `${found.table} ${found.key}`;
      const target = targets.get(id) ?? found;
      target.values[mapping.column] = value;
      targets.set(id, target);
    }
  }
  for (const target of targets.values()) store(draft, target);
}

/** Blank values neither make a row nor add a column; otherwise a cleared column is kept as empty text. */
function store(draft: Draft, { table, key, before, identity, values }: Target): void {
  const columns: Record<string, string> = before ? {} : { ...identity };
  let changes = false;
  for (const column in values) {
    if (values[column] === '' && !before?.[column]) continue;
    columns[column] = values[column]!;
    changes = true;
  }
  if (changes) draft.merge(table, key, columns);
}

function targetOf(draft: Draft, { type, name }: Assignment, mapping: Mapping): Target {
  const table = tableNamed(mapping.table);
  const existing = rowOf(draft.base, type, mapping, name, draft);
  if (existing) return { table: table.name, key: keyOf(table, existing), before: existing, identity: {}, values: {} };
  const identity = { ...mapping.where, [namingColumn(type, table)]: name };
  const key = keyOf(table, identity);
  return { table: table.name, key, before: draft.get(table.name, key), identity, values: {} };
}

function newValue(draft: Draft, assignment: Assignment, attribute: Attribute, name: string, given: string): string {
  const { type, mode } = assignment;
  const { nic } = splitNic(name);
  const isNicPart = nic !== undefined && attribute.at[0]!.table === 'nics';
  if (mode !== 'set' && isNicPart) {
    throw new Fault(
      'invalid',
      `${name}: a part of a nic attribute cannot be added to or removed from; set it instead.`,
      { reference: ['chdef does not support to change the nic related attributes with -m or -p flag.'] },
    );
  }
  if (mode !== 'set' && attribute.at.some(isSecret)) throw indivisible(name);
  // The reference system drops blanks before a value.
  const text = given.trimStart();
  if (mode !== 'remove' && nic === undefined && isNicAttribute(type, name) && !namesNics(text))
    throw new Fault(
      'invalid',
      `${name}: "${text}" names no network interface. Write ${name}.NIC=VALUE for one, or ${name}=NIC!VALUE,NIC!VALUE for all of them; an empty value clears ${name} of all.`,
    );
  const value =
    mode === 'set'
      ? text
      : mode === 'append'
        ? appended(draft, assignment, name, text)
        : without(draft, assignment, name, text);
  if (isNicPart) return mergedNics(draft, assignment, attribute, nic, value);
  if (type.name === 'node' && attribute.name === 'groups') return checkedGroups(value);
  if (type.name === 'node' && (attribute.name === 'postscripts' || attribute.name === 'postbootscripts')) {
    return withoutDefaults(draft.base, attribute.name, value);
  }
  return value;
}

export const indivisible = (secret: string): Fault =>
  new Fault('invalid', `${secret}: a secret cannot be added to or removed from; set it instead.`);

function checkedGroups(value: string): string {
  const groups = [...new Set(listItems(value))];
  for (const group of groups) checkGroupName(group);
  return groups.join(',');
}

function withoutDefaults(snapshot: Snapshot, attribute: string, value: string): string {
  const defaults = new Set(listItems(defaultScripts(snapshot)?.[attribute] ?? ''));
  return listItems(value)
    .filter((script) => !defaults.has(script))
    .join(',');
}

const separatorOf = (attribute: string): string => (attribute === 'wherevals' ? '::' : ',');

function currentValue(draft: Draft, { type, name, fresh }: Assignment, attribute: string): string {
  if (fresh) return '';
  if (type.name === 'node') return nodeAttribute(effectiveReader(draft.base), name, attribute) ?? '';
  if (type.name === 'site') return draft.get('site', attribute)?.['value'] ?? '';
  return storedAttribute(draft.base, type, name, attribute) ?? '';
}

const items = (list: string, separator: string): string[] => list.split(separator).flatMap((item) => item.trim() || []);

export function appended(draft: Draft, assignment: Assignment, attribute: string, value: string): string {
  const separator = separatorOf(attribute);
  const current = currentValue(draft, assignment, attribute);
  const present = new Set(items(current, separator));
  const added = [...new Set(items(value, separator))].filter((item) => !present.has(item));
  // What is there stays as it is written, blanks too.
  return [...(present.size > 0 ? [current] : []), ...added].join(separator);
}

export function without(draft: Draft, assignment: Assignment, attribute: string, value: string): string {
  const separator = separatorOf(attribute);
  const present = items(currentValue(draft, assignment, attribute), separator);
  if (present.length === 0) {
    throw new Fault('invalid', `${assignment.name}: ${attribute} has no value, so nothing can be removed from it.`, {
      reference: [`No value got for attribute '${attribute}' for the '${assignment.name}' definition.`],
    });
  }
  const unwanted = new Set(items(value, separator));
  for (const item of unwanted) {
    if (!present.includes(item))
      throw new Fault('invalid', `${assignment.name}: "${item}" is not in ${attribute}.`, {
        reference: [`${item} is not in the attribute of '${attribute}' for the '${assignment.name}' definition.`],
      });
  }
  return present.filter((item) => !unwanted.has(item)).join(separator);
}

/** Sets or clears the part of one nic; other nics keep theirs. New parts come first, as the reference system writes them. */
function mergedNics(draft: Draft, assignment: Assignment, attribute: Attribute, nic: string, value: string): string {
  if (!/^[A-Za-z0-9_.:-]+$/.test(nic))
    throw new Fault('invalid', `"${attribute.name}.${nic}": "${nic}" is not the name of a nic.`);
  const mapping = attribute.at[0]!;
  const { key } = targetOf(draft, assignment, mapping);
  let parts = nicParts(draft.get(mapping.table, key)?.[mapping.column] ?? '');
  for (const [name, text] of Object.entries({ ...assignment.attributes, [`${attribute.name}.${nic}`]: value })) {
    const part = splitNic(name);
    if (part.nic === undefined || part.base !== attribute.name) continue;
    const existing = parts.find(([other]) => other === part.nic);
    if (existing) existing[1] = text.trimStart();
    else parts = [[part.nic, text.trimStart()], ...parts];
  }
  return parts.flatMap(([part, text]) => (text === '' ? [] : `${part}!${text}`)).join(',');
}

/** The mapping whose condition holds: by the values given now, the stored ones, or those of groups named in the same call. */
function chooseMapping(snapshot: Snapshot, assignment: Assignment, attribute: Attribute): Mapping | undefined {
  return attribute.at.find(
    ({ onlyIf }) =>
      !onlyIf || conditionValues(snapshot, assignment, onlyIf[0]).some((value) => hasWord(value, onlyIf[1])),
  );
}

function conditionValues(snapshot: Snapshot, assignment: Assignment, attribute: string): (string | undefined)[] {
  const { type, name, attributes, fresh, sees } = assignment;
  const given = attributes[attribute];
  if (given !== undefined && given !== '') return [given];
  const values: (string | undefined)[] = [];
  if (!fresh && given === undefined) {
    values.push(
      type.name === 'node'
        ? nodeAttribute(effectiveReader(snapshot), name, attribute)
        : storedAttribute(snapshot, type, name, attribute),
    );
  }
  if (type.name === 'node' && attributes['groups'] !== undefined) {
    for (const group of listItems(attributes['groups']))
      if (!sees || seesOwners(snapshot, group, sees))
        values.push(storedAttribute(snapshot, groupType, group, attribute));
  }
  return values;
}

/** Kinds of hardware that the reference system does not know. */
const unknownThere = ['redfish'];

const inItsWords = (conditions: readonly (readonly [attribute: string, word: string])[]): string =>
  [...new Set(conditions.map(([, word]) => word))].filter((word) => !unknownThere.includes(word)).join(' or ');

function unmetCondition({ name }: Assignment, attribute: Attribute): Fault {
  const conditions = attribute.at.flatMap((mapping) => (mapping.onlyIf ? [mapping.onlyIf] : []));
  const words = [...new Set(conditions.map(([, word]) => word))].join(' or ');
  return new Fault(
    'invalid',
    `${name}: ${attribute.name} can be set only if ${conditions[0]![0]} is ${words}.`,
    inReference(
      `Cannot set the attr='${attribute.name}' attribute unless ${conditions[0]![0]} value is ${inItsWords(conditions)}.`,
    ),
  );
}
