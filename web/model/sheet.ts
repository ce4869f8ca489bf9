// A table that is being edited: what is stored, and what would be written.
export type Row = Readonly<Record<string, string>>;

export interface Dump {
  readonly columns: readonly string[];
  readonly keys: readonly string[];
  readonly rows: readonly Row[];
}

/** How secrets are shown that are stored. */
export const mask = '********';

export interface Edits {
  /** By the key of the row, the columns that get another value. */
  readonly cells: ReadonlyMap<string, Row>;
  readonly added: readonly { readonly id: string; readonly row: Row }[];
  readonly removed: ReadonlySet<string>;
}

export const noEdits: Edits = { cells: new Map(), added: [], removed: new Set() };

export const keyOf = (keys: readonly string[], row: Row): string => JSON.stringify(keys.map((key) => row[key] ?? ''));
export const nameOf = (keys: readonly string[], row: Row): string =>
  keys
    .map((key) => row[key] ?? '')
    .filter(Boolean)
    .join(', ');

export const countsOf = ({ cells, added, removed }: Edits): [cells: number, added: number, removed: number] => [
  [...cells].reduce((count, [key, columns]) => (removed.has(key) ? count : count + Object.keys(columns).length), 0),
  added.length,
  removed.size,
];

export const isEdited = (edits: Edits): boolean => countsOf(edits).some((count) => count > 0);

/** Another value of a cell. What is as it was is no edit, and neither is a mask or a secret that was left empty. */
export function withCell(edits: Edits, key: string, stored: Row, column: string, value: string): Edits {
  const was = stored[column] ?? '';
  const { [column]: _before, ...others } = edits.cells.get(key) ?? {};
  const isSame = value === was || (was === mask && value === '');
  const columns = isSame ? others : { ...others, [column]: value };
  const cells = new Map(edits.cells);
  if (Object.keys(columns).length === 0) cells.delete(key);
  else cells.set(key, columns);
  return { ...edits, cells };
}

export function withRemoval(edits: Edits, key: string): Edits {
  const removed = new Set(edits.removed);
  if (!removed.delete(key)) removed.add(key);
  return { ...edits, removed };
}

export const withAdded = (edits: Edits, id: string, change: Row | undefined): Edits => ({
  ...edits,
  added: change
    ? edits.added.map((each) => (each.id === id ? { id, row: { ...each.row, ...change } } : each))
    : edits.added.filter((each) => each.id !== id),
});

/** Columns without which a new row has no name. The account may be absent where the use is enough. */
export const missingKeys = (keys: readonly string[], { added }: Edits): readonly string[] =>
  keys.filter((key) => key !== 'username' && added.some(({ row }) => (row[key] ?? '') === ''));

interface Body {
  readonly set: readonly { readonly keys: Row; readonly columns: Row }[];
  readonly remove: readonly Row[];
}

/** The body of the request that writes all of it. */
export function bodyOf({ keys, rows }: Dump, { cells, added, removed }: Edits): Body {
  const named = (row: Row): Row => Object.fromEntries(keys.map((key) => [key, row[key] ?? '']));
  const set: { keys: Row; columns: Row }[] = [];
  const remove: Row[] = [];
  for (const row of rows) {
    const key = keyOf(keys, row);
    const columns = cells.get(key);
    if (removed.has(key)) remove.push(named(row));
    else if (columns) set.push({ keys: named(row), columns });
  }
  for (const { row } of added)
    set.push({
      keys: named(row),
      columns: Object.fromEntries(
        Object.entries(row).filter(([column, value]) => value !== '' && !keys.includes(column)),
      ),
    });
  return { set, remove };
}
