import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { writeAt } from '../api/client.ts';
import type { ChangedRow } from '../api/types.ts';
import { Dialog, Message } from '../design/parts.tsx';
import { common } from '../texts/common.ts';
import { writing } from '../texts/writing.ts';
import { Difference, Undo } from './changes.tsx';

export interface Writing {
  readonly method: 'PUT' | 'POST' | 'DELETE';
  readonly path: string;
  readonly body: unknown;
}

interface DryRun {
  readonly changes?: readonly ChangedRow[];
}

interface WriteDialogProps {
  readonly title: string;
  /** Undefined: what was entered so far is not enough. */
  readonly writing: Writing | undefined;
  /** What is written takes something away. */
  readonly removes?: boolean;
  readonly isWide?: boolean;
  onClose(): void;
  onWritten(change: number): void;
  readonly children?: ComponentChildren;
}

/** A form that first shows which rows would be written, and then writes exactly what it has shown. */
export function WriteDialog({
  title,
  writing: given,
  removes,
  isWide,
  onClose,
  onWritten,
  children,
}: WriteDialogProps) {
  const [tried, setTried] = useState<{ readonly of: string; readonly rows: readonly ChangedRow[] }>();
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const request = JSON.stringify(given);
  // What was changed in the form since is not what was shown.
  const rows = tried && tried.of === request ? tried.rows : undefined;
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!given || isBusy) return;
    setError('');
    setBusy(true);
    const { method, path, body } = given;
    try {
      if (rows) {
        const { revision } = await writeAt(method, path, { body });
        onWritten(revision);
        return onClose();
      }
      const { value } = await writeAt<DryRun>(method, `${path}?dryRun=1`, { body });
      setTried({ of: request, rows: value.changes ?? [] });
    } catch (failed) {
      setError((failed as Error).message);
    }
    setBusy(false);
  };
  return (
    <Dialog label={title} onClose={onClose} {...(isWide ? { isWide } : {})}>
      <form onSubmit={(event) => void submit(event)}>
        <h1>{title}</h1>
        {children}
        {rows?.length === 0 && <Message>{writing.nothing}</Message>}
        {rows && rows.length > 0 && <Difference rows={rows} />}
        {error !== '' && <Message tone="critical">{error}</Message>}
        <div class="row">
          <button
            class={`button ${rows && removes ? 'danger' : 'primary'}`}
            disabled={!given || isBusy || rows?.length === 0}
          >
            {rows ? (removes ? common.remove : writing.write) : writing.show}
          </button>
          <button type="button" class="button" onClick={onClose}>
            {common.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Says which change was just written, and takes it back if asked. */
export function Written({ change, onClose }: { change: number; onClose(): void }) {
  const [isUndoing, setUndoing] = useState(false);
  return (
    <div class="message ok row" role="status">
      <span class="grow">{writing.written(change)}</span>
      <button type="button" class="button" onClick={() => setUndoing(true)}>
        {common.undo}
      </button>
      <button type="button" class="button" onClick={onClose}>
        {writing.dismiss}
      </button>
      {isUndoing && (
        <Undo
          id={change}
          onClose={(done) => {
            setUndoing(false);
            if (done) onClose();
          }}
        />
      )}
    </div>
  );
}

interface TextProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly value: string;
  readonly isFirst?: boolean;
  readonly isRequired?: boolean;
  readonly isLong?: boolean;
  onInput(value: string): void;
}

/** A line of text as it is stored, without help from the keyboard of a phone. */
export function TextField({ label, hint, value, isFirst, isRequired, isLong, onInput }: TextProps) {
  const id = useId();
  const shared = {
    id,
    class: 'field mono',
    spellcheck: false,
    autocapitalize: 'none',
    autocomplete: 'off',
    value,
    ...(isFirst ? { autofocus: true } : {}),
    ...(isRequired ? { required: true } : {}),
    ...(hint === undefined ? {} : { 'aria-describedby': `${id}-hint` }),
  } as const;
  return (
    <div class="label">
      <label for={id}>{label}</label>
      {isLong ? (
        <textarea {...shared} rows={3} onInput={(event) => onInput(event.currentTarget.value)} />
      ) : (
        <input {...shared} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {hint !== undefined && <span id={`${id}-hint`}>{hint}</span>}
    </div>
  );
}
