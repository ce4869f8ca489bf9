// The pages of tables.
import { common } from './common.ts';

export const tables = {
  title: 'Tables',
  about: 'what is behind all definitions, row by row',
  all: 'All tables',
  filter: 'Filter tables',
  filterHint: 'name or meaning',
  noneMatches: 'No table has this in its name or meaning.',
  rows: 'Filter rows',
  rowsHint: 'any value',
  addRow: 'Add a row',
  noRows: 'The table has no rows.',
  noRowMatches: 'No row has this in a value.',
  readOnly: 'muster writes this table itself; it cannot be edited.',
  remove: (row: string) => `Remove row ${row}`,
  keep: (row: string) => `Keep row ${row}`,
  newRow: 'new row',
  actions: 'Actions',
  cell: (column: string, row: string, value: string) => `${column} of ${row}: ${value === '' ? common.unset : value}`,
  secret: 'A new secret; empty keeps the one that there is',
  pending: (cells: number, added: number, removed: number) =>
    [
      [cells, 'cell', 'changed'],
      [added, 'row', 'added'],
      [removed, 'row', 'removed'],
    ]
      .filter(([count]) => count !== 0)
      .map(([count, thing, what]) => `${count} ${thing}${count === 1 ? '' : 's'} ${what}`)
      .join(', '),
  notWritten: 'Not written yet:',
  show: 'Look and write',
  discard: 'Discard',
  again: 'Read the table again',
  stale: 'Somebody has changed this table meanwhile. Rows that you both changed are not written.',
  write: (table: string) => `Write to table ${table}`,
  incomplete: (columns: string) => `Each new row needs ${columns}.`,
};
