import { Fault } from '../../core/errors.ts';
import { secretColumns } from '../../database/secret-columns.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled, keyOf, type Row, type Table, tables } from '../../database/tables.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { seesOwners } from '../../objects/groups.ts';
import { groupTable, ownerOf } from '../../objects/shown-arguments.ts';
import { concernsNodes } from '../../objects/table-access.ts';
import { given, type Value } from './installer.ts';

/** `#NAME#` or `#NAME:argument#` in a template. */
export interface Placeholder {
  readonly name: string;
  readonly argument: string | undefined;
  /** As it stands there, and where. */
  readonly text: string;
  readonly where: string;
}

const placeholders = /#([A-Z][A-Z0-9_]*)(?::([^#\n]*))?#/g;
const variable = /#ENV:([^#\n]*)#/g;

/** The text as what stands there and what is to be put there. */
export function parseTemplate(
  text: string,
  path: string,
  environment: Readonly<Record<string, string>>,
): (string | Placeholder)[] {
  // They come first: they stand in the arguments of others.
  const plain = text.replaceAll(variable, (_, name: string) => environmentValue(name.trim(), path, environment));
  const parts: (string | Placeholder)[] = [];
  let at = 0;
  let line = 1;
  for (const found of plain.matchAll(placeholders)) {
    const before = plain.slice(at, found.index);
    line += before.split('\n').length - 1;
    if (before !== '') parts.push(before);
    parts.push({ name: found[1]!, argument: found[2]?.trim(), text: found[0], where: `${path}, line ${line}` });
    at = found.index + found[0].length;
  }
  if (at < plain.length) parts.push(plain.slice(at));
  return parts;
}

/** Only what is the same for everybody; the environment of this process is nobody's business. */
function environmentValue(name: string, path: string, environment: Readonly<Record<string, string>>): string {
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (value !== undefined) return value;
  throw new Fault('invalid', `${path}: #ENV:${name}# is not known; there are ${Object.keys(environment).join(', ')}.`);
}

/** The value as one of this placeholder: errors name where it stands. */
export const placed = ({ value }: Value, { text, where }: Placeholder): Value => given(value, `${where}: ${text}`);

/** What `#TABLE:table:key:column#` refers to, secret or not. */
export interface Referred {
  readonly table: Table;
  readonly key: string;
  readonly column: string;
  readonly row: Row | undefined;
  /** As it is stored; undefined: there is no value. */
  readonly value: string | undefined;
  readonly isSecret: boolean;
}

export function referred(reader: EffectiveReader, node: string, placeholder: Placeholder): Referred {
  const { table, column, key } = readReference(placeholder);
  const row = rowOf(reader, node, table, key, placeholder);
  const isSecret = table.secret.has(column) || (row !== undefined && secretColumns(table, row).has(column));
  return { table, key, column, row, value: row?.[column] || undefined, isSecret };
}

/** What it stands for where no secret may stand; undefined: there is no value. `instead` says what to write for a secret. */
export function tableValue(
  reader: EffectiveReader,
  node: string,
  placeholder: Placeholder,
  instead: string,
): string | undefined {
  const { value, isSecret } = referred(reader, node, placeholder);
  const { text, where } = placeholder;
  if (isSecret) throw new Fault('invalid', `${where}: ${text} is a secret, ${instead}`);
  return value;
}

/** Whether a row is about other nodes or groups than the node that the file is made for. */
export const isOfOthers = ({ table, key }: Referred): boolean =>
  !isThisNode(key) && (concernsNodes(table) || table.name === groupTable);

/** A row of nodes that somebody may not know of looks like one that does not exist. */
export function isSeen(snapshot: Snapshot, { table, row }: Referred, sees: (node: string) => boolean): boolean {
  const owner = row && ownerOf(table, keyOf(table, row));
  return owner !== undefined && seesOwners(snapshot, owner, sees);
}

function readReference(placeholder: Placeholder): { table: Table; key: string; column: string } {
  const { argument = '', text, where } = placeholder;
  const parts = argument.split(':');
  const [tableName = '', column = ''] = [parts[0], parts.at(-1)];
  const key = parts.slice(1, -1).join(':').trim();
  if (parts.length < 3 || key === '')
    throw new Fault(
      'invalid',
      `${where}: ${text} must be #TABLE:table:key:column#, as #TABLE:noderes:$NODE:nfsserver#.`,
    );
  const table = tables.get(tableName);
  if (!table || table.log) throw new Fault('invalid', `${where}: ${text} names a table that cannot be read here.`);
  if (!table.columns.includes(column))
    throw new Fault('invalid', `${where}: ${text}: the table ${tableName} has no column ${JSON.stringify(column)}.`);
  return { table, key, column };
}

export const isThisNode = (key: string): boolean => thisNode.has(key);

const thisNode = new Set(['$NODE', 'THISNODE', 'NODE', 'node=$NODE', 'node=THISNODE']);

function rowOf(
  reader: EffectiveReader,
  node: string,
  table: Table,
  key: string,
  { text, where }: Placeholder,
): Row | undefined {
  if (thisNode.has(key)) {
    if (table.nodeColumn !== undefined) return reader.row(table, node);
    throw new Fault('invalid', `${where}: ${text}: the rows of table ${table.name} do not belong to nodes.`);
  }
  const wanted = conditions(key, table, node);
  const unknown = Object.keys(wanted).find((column) => !table.columns.includes(column) || table.secret.has(column));
  if (unknown !== undefined)
    throw new Fault(
      'invalid',
      `${where}: ${text}: rows of table ${table.name} are not found by ${JSON.stringify(unknown)}.`,
    );
  return [...reader.snapshot.rows(table.name).values()].find(
    (row) => isEnabled(row) && Object.entries(wanted).every(([column, value]) => row[column] === value),
  );
}

/** `key=system,username=root`, or the mere key of a table that has one. */
function conditions(key: string, table: Table, node: string): Record<string, string> {
  if (!key.includes('=')) return { [table.keys[0]!]: key };
  return Object.fromEntries(
    key.split(',').map((part) => {
      const [column = '', ...value] = part.split('=');
      return [column.trim(), value.join('=').trim().replaceAll('$NODE', node)];
    }),
  );
}
