import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { momentOf } from '../model/moments.ts';
import { ago, common } from '../texts/common.ts';

export type Tone = 'ok' | 'warning' | 'critical' | 'accent' | '';

export const Badge = ({ tone = '', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);

export const Message = ({ tone = '', children }: { tone?: Tone; children: ComponentChildren }) => (
  <p class={`message ${tone}`} role={tone === 'critical' ? 'alert' : 'status'}>
    {children}
  </p>
);

/** A sentence whose part in brackets is shown in a way of its own, such as a link. */
export function Sentence({ text, children }: { text: string; children: (part: string) => ComponentChildren }) {
  const [before, part = '', after] = text.split(/[[\]]/);
  return (
    <>
      {before}
      {children(part)}
      {after}
    </>
  );
}

interface CardProps {
  readonly title: string;
  readonly side?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Card({ title, side, children }: CardProps) {
  const id = useId();
  return (
    <section class="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        <div class="row">{side}</div>
      </header>
      {children}
    </section>
  );
}

/** A question or a form above the page; Escape leaves it. */
export function Dialog({
  label,
  isWide,
  onClose,
  children,
}: {
  label: string;
  isWide?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} class={isWide ? 'wide' : ''} aria-label={label} onClose={onClose}>
      {children}
    </dialog>
  );
}

function sinceText(time: string): string {
  const seconds = (Date.now() - Date.parse(time)) / 1_000;
  for (const [length, text] of ago.units) {
    const count = Math.floor(seconds / length);
    if (count >= 1) return text(count);
  }
  return ago.justNow;
}

export function Ago({ time }: { time: string }) {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTurn((turn) => turn + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <time class="muted small" dateTime={time} title={momentOf(time)}>
      {sinceText(time)}
    </time>
  );
}

/** The head of a table; `hasActs`: its last column has buttons and needs no heading to be seen. */
export const TableHead = ({ columns, hasActs }: { columns: readonly string[]; hasActs?: boolean }) => (
  <thead>
    <tr>
      {columns.map((name) => (
        <th key={name} scope="col">
          {name}
        </th>
      ))}
      {hasActs && (
        <th scope="col">
          <span class="hidden">{common.actions}</span>
        </th>
      )}
    </tr>
  </thead>
);

/** How far something is, in parts of all. */
export function Progress({ done, failed = 0, of }: { done: number; failed?: number; of: number }) {
  const share = of === 0 ? 100 : Math.round((100 * done) / of);
  return (
    <div
      class="progress"
      role="progressbar"
      aria-valuenow={share}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-label={common.doneOf(done, of)}
    >
      <i class={failed > 0 ? 'failed' : ''} style={{ width: `${share}%` }} />
    </div>
  );
}

/** The name of a page, and what it shows. */
export const PageTitle = ({ title, about }: { readonly title: string; readonly about: string }) => (
  <header>
    <h1>{title}</h1>
    <span class="muted">{about}</span>
  </header>
);

interface FilterProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  onValue(value: string): void;
}

/** Of a list: what is typed here is looked for in it. */
export const Filter = ({ label, hint, value, onValue }: FilterProps) => (
  <input
    class="field"
    type="search"
    aria-label={label}
    placeholder={hint}
    value={value}
    onInput={(event) => onValue(event.currentTarget.value)}
  />
);

interface ReadProps<T> {
  /** Read again when it changes. */
  readonly of: string;
  read(signal: AbortSignal): Promise<T>;
  children(value: T, again: () => void): ComponentChildren;
}

/** What has to be read before it is shown, with what goes wrong in its place. */
export function Read<T>({ of, read, children }: ReadProps<T>): JSX.Element {
  const [state, setState] = useState<{ value?: T; error?: string }>({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    read(controller.signal).then(
      (value) => setState({ value }),
      (error: unknown) => {
        if (!controller.signal.aborted) setState({ error: (error as Error).message });
      },
    );
    return () => controller.abort();
  }, [of, turn]);
  if (state.error !== undefined)
    return (
      <div class="body stack">
        <Message tone="critical">{state.error}</Message>
        <div>
          <button type="button" class="button" onClick={() => setTurn(turn + 1)}>
            {common.tryAgain}
          </button>
        </div>
      </div>
    );
  if (state.value === undefined) return <p class="body muted">{common.reading}</p>;
  return <>{children(state.value, () => setTurn(turn + 1))}</>;
}
