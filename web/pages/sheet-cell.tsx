import { useState } from 'preact/hooks';
import { mask } from '../model/sheet.ts';
import { tables as texts } from '../texts/tables.ts';

/** Moves the focus to the cell beside. */
function move(from: HTMLElement, key: string): boolean {
  const row = from.closest('.sheet-row');
  const at = row ? [...row.children].indexOf(from.closest('[role=gridcell]')!) : -1;
  const target =
    key === 'ArrowLeft'
      ? row?.children[at - 1]
      : key === 'ArrowRight'
        ? row?.children[at + 1]
        : key === 'ArrowDown'
          ? row?.nextElementSibling?.children[at]
          : key === 'ArrowUp'
            ? row?.previousElementSibling?.children[at]
            : undefined;
  const cell = target?.querySelector<HTMLElement>('button');
  cell?.focus();
  return cell !== undefined && cell !== null;
}

interface CellProps {
  readonly column: string;
  /** What the row is called. */
  readonly row: string;
  readonly value: string;
  readonly isChanged: boolean;
  readonly isSecret: boolean;
  /** Undefined: it stays as it is. */
  readonly onChange: ((value: string) => void) | undefined;
}

/** A value that becomes a field when somebody wants to change it. */
export function Cell({ column, row, value, isChanged, isSecret, onChange }: CellProps) {
  const [typed, setTyped] = useState<string>();
  const isHidden = isSecret || value === mask;
  const shown = isHidden && value !== '' ? mask : value;
  if (typed === undefined || !onChange)
    return (
      <span role="gridcell" class={isChanged ? 'changed' : ''}>
        <button
          type="button"
          class="cell"
          title={shown}
          aria-label={texts.cell(column, row, shown)}
          aria-disabled={!onChange}
          onClick={() => setTyped(isHidden ? '' : value)}
          onKeyDown={(event) => {
            if (move(event.currentTarget, event.key)) event.preventDefault();
          }}
        >
          {shown}
        </button>
      </span>
    );
  const close = (from: HTMLElement): void => {
    const cell = from.closest<HTMLElement>('[role=gridcell]');
    setTyped(undefined);
    requestAnimationFrame(() => cell?.querySelector('button')?.focus());
  };
  return (
    <span role="gridcell">
      <input
        class="cell"
        aria-label={texts.cell(column, row, shown)}
        {...(isHidden ? { placeholder: texts.secret } : {})}
        autofocus
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        value={typed}
        ref={(input) => input?.focus()}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') onChange(event.currentTarget.value);
          if (event.key === 'Enter' || event.key === 'Escape') close(event.currentTarget);
        }}
        onBlur={(event) => {
          // Escape has taken the field away.
          if (!event.currentTarget.isConnected) return;
          onChange(event.currentTarget.value);
          setTyped(undefined);
        }}
      />
    </span>
  );
}
