import { isPriority } from '../access/policy.ts';
import { Fault } from '../core/errors.ts';
import type { Row, Table } from '../database/tables.ts';
import { checkGroupName, checkObjectName, isNodeName } from '../objects/names.ts';
import { nodeType } from '../objects/types.ts';
import type { CsvRecord } from './csv.ts';

/** What stands in one field of every row. */
export interface Column {
  readonly name: string;
  readonly known: boolean;
  readonly isKey: boolean;
}

export interface Header {
  readonly columns: readonly Column[];
  readonly unknown: readonly string[];
  readonly problems: readonly string[];
}

export function readHeader(table: Table, { fields, problem }: CsvRecord): Header {
  if (problem !== undefined) return { columns: [], unknown: [], problems: [problem] };
  const names = fields.map((name) => name ?? '');
  const problems: string[] = [];
  for (const name of new Set(names.filter((each, i) => names.indexOf(each) !== i))) {
    problems.push(`The header names the column "${name}" twice.`);
  }
  for (const key of table.keys) {
    // Only the user name may be absent, and in tables of nodes all but the node.
    const needed = table.nodeColumn === undefined ? key !== 'username' : key === table.nodeColumn;
    if (needed && !names.includes(key)) {
      problems.push(`The header lacks the column "${key}", which is a key of table "${table.name}".`);
    }
  }
  const columns = names.map((name) => ({
    name,
    known: table.columns.includes(name),
    isKey: table.keys.includes(name),
  }));
  return { columns, unknown: names.filter((name) => !table.columns.includes(name)), problems };
}

/** What a row must be beyond the values of its columns, which the draft checks. */
export function checkRow(table: Table, row: Row): void {
  const column = table.keys[0]!;
  const name = row[column];
  if (name === undefined) throw new Fault('invalid', `The row has no value for its key "${column}".`);
  if (table.name === 'nodelist') checkObjectName(nodeType, name);
  // Rows of other node tables belong to a node or to a group.
  else if (column === 'node' && !isNodeName(name)) checkGroupName(name);
  else if (table.name === 'policy' && !isPriority(name)) {
    throw new Fault('invalid', `"${name}" is not a priority: give a number such as 4 or 4.2.`);
  }
}

/** Tokens are stored as SHA-256 sums; anything else, such as another system's tokens, lets nobody in. */
export const isTokenHash = (text: string | undefined): boolean => text !== undefined && /^[0-9a-f]{64}$/.test(text);
