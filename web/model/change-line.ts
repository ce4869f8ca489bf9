// What a change was about, in a line.
import type { ChangedRow, ChangeHead } from '../api/types.ts';
import { changes as texts } from '../texts/runs.ts';
import { folded } from './ranges.ts';

export type Columns = Readonly<Record<string, string | null>> | null;

const keyOf = (row: ChangedRow) => row.key as Readonly<Record<string, string>>;

export const keyText = (row: ChangedRow): string => Object.values(keyOf(row)).join(', ');

/** Somebody signed in, or a token ended. */
export const isSignIn = ({ tables }: Pick<ChangeHead, 'tables'>): boolean => tables.every((table) => table === 'token');

/** A column more would not be read in a line. */
const mostColumns = 3;

/** Which nodes and which others the rows are about: `n[1-4], rule 8`. */
function subjectsOf(rows: readonly ChangedRow[]): string {
  const found = new Map<string, Set<string>>();
  for (const row of rows) {
    const what = 'node' in keyOf(row) ? '' : (texts.rowsOf[row.table as keyof typeof texts.rowsOf] ?? row.table);
    found.set(what, (found.get(what) ?? new Set()).add(keyText(row)));
  }
  return [...found]
    .map(([what, names]) => (what === '' ? folded(names) : texts.subject(what, folded(names))))
    .join(', ');
}

/** The columns that were written, without those that say which row it is. */
function columnsOf(rows: readonly ChangedRow[]): string {
  const found = new Set(
    rows.flatMap((row) =>
      Object.keys({ ...(row.before as Columns), ...(row.after as Columns) }).filter((name) => !(name in keyOf(row))),
    ),
  );
  const first = [...found].slice(0, mostColumns).join(', ');
  return found.size > mostColumns ? texts.andMore(first) : first;
}

export function aboutOf({ changes, rows, tables }: Pick<ChangeHead, 'changes' | 'rows' | 'tables'>): string {
  const isAll = (side: 'before' | 'after'): boolean => changes.length > 0 && changes.every((row) => row[side] === null);
  const isGone = isAll('after');
  if (isSignIn({ tables })) return isGone ? texts.tokenEnded : texts.tokenMade;
  // A node is there with its row in nodelist: a first row in another table sets attributes of it.
  const isWhole = tables.includes('nodelist') || !changes.every((row) => 'node' in keyOf(row));
  const what = isWhole && isAll('before') ? texts.made : isWhole && isGone ? texts.removed : columnsOf(changes);
  const about = subjectsOf(changes);
  return rows > changes.length ? texts.lineOfRows(about, what, rows) : texts.line(about, what);
}
