import { Fault } from '../../../core/errors.ts';
import { secretColumns } from '../../../database/secret-columns.ts';
import { isEnabled, type Row, type Table, tables } from '../../../database/tables.ts';
import { type EffectiveReader } from '../../../objects/effective.ts';
import type { Placeholder } from './template.ts';

/** What `#TABLE:table:key:column#` stands for; undefined: there is no value. */
export function tableValue(reader: EffectiveReader, node: string, placeholder: Placeholder): string | undefined {
  const { table, column, key } = readReference(placeholder);
  const row = rowOf(reader, node, table, key, placeholder);
  if (row && secretColumns(table, row).has(column)) throw secretValue(placeholder);
  return row?.[column] || undefined;
}

const secretValue = ({ text, where }: Placeholder): Fault =>
  new Fault(
    'invalid',
    `${where}: ${text} is a secret, which no answer file holds; root's password is there as a hash by #CRYPT:passwd:key=system,username=root:password#.`,
  );

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
  if (table.secret.has(column)) throw secretValue(placeholder);
  return { table, key, column };
}

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
