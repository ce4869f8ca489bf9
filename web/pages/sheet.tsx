import { useMemo, useState } from 'preact/hooks';
import { byName } from '../model/ranges.ts';
import { type Dump, type Edits, keyOf, nameOf, type Row, withAdded, withCell, withRemoval } from '../model/sheet.ts';
import { tables as texts } from '../texts/tables.ts';
import { Cell } from './sheet-cell.tsx';
import type { Meanings } from './tables.tsx';

const rowHeight = 30;
const around = 12;
/** Looked at for the width of columns. */
const lookedAt = 400;
const [narrowest, widest] = [90, 320];

/** Pixels of each column, by what is in it. */
function widthsOf({ columns, rows }: Dump): number[] {
  const some = rows.slice(0, lookedAt);
  return columns.map((column) => {
    const longest = some.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), column.length);
    return Math.min(widest, Math.max(narrowest, longest * 7.5 + 20));
  });
}

interface Line {
  readonly key: string;
  readonly stored: Row;
  /** Of a row that is not stored yet. */
  readonly added?: Row;
}

function linesOf({ keys, rows }: Dump, filter: string): Line[] {
  const wanted = filter.trim().toLowerCase();
  return rows
    .filter((row) => Object.values(row).some((value) => value.toLowerCase().includes(wanted)))
    .map((stored) => ({ key: keyOf(keys, stored), stored }))
    .sort((a, b) => byName(nameOf(keys, a.stored), nameOf(keys, b.stored)));
}

interface SheetProps {
  readonly name: string;
  readonly dump: Dump;
  readonly meanings: Meanings[string];
  readonly edits: Edits;
  readonly filter: string;
  /** Absent: it can only be read. */
  readonly onEdit?: (edits: Edits) => void;
}

/** Rows and columns; only rows in sight are drawn. */
export function Sheet({ name, dump, meanings, edits, filter, onEdit }: SheetProps) {
  const { columns, keys } = dump;
  const [top, setTop] = useState(0);
  const stored = useMemo(() => linesOf(dump, filter), [dump, filter]);
  const lines: readonly Line[] = [
    ...edits.added.map(({ id, row }) => ({ key: id, stored: {}, added: row })),
    ...stored,
  ];
  const first = Math.max(0, Math.floor(top / rowHeight) - around);
  const shown = lines.slice(first, first + Math.ceil(innerHeight / rowHeight) + 2 * around);
  const widths = useMemo(() => widthsOf(dump), [dump]);
  const template = {
    gridTemplateColumns: `${onEdit ? '34px ' : ''}${widths.map((width) => `minmax(0, ${width}fr)`).join(' ')}`,
    minWidth: `${widths.reduce((sum, width) => sum + width, 34)}px`,
  };
  if (lines.length === 0) return <p class="empty">{dump.rows.length === 0 ? texts.noRows : texts.noRowMatches}</p>;
  return (
    <div
      class="window sheet-window"
      role="grid"
      aria-label={name}
      aria-rowcount={lines.length + 1}
      tabIndex={0}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <div class="sheet-row head" role="row" aria-rowindex={1} style={template}>
        {onEdit && (
          <span role="columnheader">
            <span class="hidden">{texts.actions}</span>
          </span>
        )}
        {columns.map((column) => (
          <span key={column} role="columnheader" title={meanings[column]?.meaning ?? ''} class="cut">
            {column}
          </span>
        ))}
      </div>
      <div style={{ height: `${first * rowHeight}px` }} />
      {shown.map(({ key, stored: before, added }, i) => {
        const changed = edits.cells.get(key) ?? {};
        const row = added ?? { ...before, ...changed };
        const isRemoved = edits.removed.has(key);
        const called = nameOf(keys, added ?? before) || texts.newRow;
        const action = isRemoved ? texts.keep(called) : texts.remove(called);
        return (
          <div
            key={key}
            class={`sheet-row ${added ? 'added' : ''} ${isRemoved ? 'removed' : ''}`}
            role="row"
            aria-rowindex={first + i + 2}
            style={template}
          >
            {onEdit && (
              <span role="gridcell">
                <button
                  type="button"
                  class="cell act"
                  aria-label={action}
                  title={action}
                  onClick={() => onEdit(added ? withAdded(edits, key, undefined) : withRemoval(edits, key))}
                >
                  {isRemoved ? '↺' : '×'}
                </button>
              </span>
            )}
            {columns.map((column) => {
              const isFixed = !onEdit || isRemoved || (!added && keys.includes(column));
              return (
                <Cell
                  key={column}
                  column={column}
                  row={called}
                  value={row[column] ?? ''}
                  isChanged={column in changed}
                  isSecret={meanings[column]?.type.startsWith('secret') ?? false}
                  onChange={
                    isFixed
                      ? undefined
                      : (value) =>
                          onEdit(
                            added
                              ? withAdded(edits, key, { [column]: value })
                              : withCell(edits, key, before, column, value),
                          )
                  }
                />
              );
            })}
          </div>
        );
      })}
      <div style={{ height: `${Math.max(0, lines.length - first - shown.length) * rowHeight}px` }} />
    </div>
  );
}
