import { useState } from 'preact/hooks';
import { get, write } from '../api/client.ts';
import type { Change, ChangedRow, ChangeHead, ChangeList } from '../api/types.ts';
import { Ago, Card, Dialog, Message, PageTitle, Read } from '../design/parts.tsx';
import { aboutOf, type Columns, keyText } from '../model/change-line.ts';
import { changesSeen } from '../model/live.ts';
import { useStore } from '../model/store.ts';
import { common } from '../texts/common.ts';
import { changes as texts } from '../texts/runs.ts';

export const ChangeLine = ({ change }: { change: ChangeHead }) => (
  <div class="grow">
    <div class="cut" title={aboutOf(change)}>
      {aboutOf(change)}
    </div>
    <div class="muted small cut">
      {change.user} · {change.command} · {change.id}
    </div>
  </div>
);

/** Rows before and after, column by column. */
export function Difference({ rows }: { rows: readonly ChangedRow[] }) {
  const most = 200;
  return (
    <div class="stack">
      {rows.slice(0, most).map((row) => {
        const before = row.before as Columns;
        const after = row.after as Columns;
        // A dry run has whole rows.
        const columns = Object.keys({ ...before, ...after }).filter(
          (column) => (before?.[column] ?? '') !== (after?.[column] ?? '') || before?.[column] === '********',
        );
        return (
          <div key={`${row.table} ${keyText(row)}`}>
            <h3>
              {row.table} · {keyText(row)}
              {before === null && texts.newRow}
              {after === null && texts.removedRow}
            </h3>
            <pre class="code">
              {columns.map((column) => {
                const [was, is] = [before?.[column] ?? '', after?.[column] ?? ''];
                return (
                  <div key={column}>
                    {column}: {was !== '' && <span class="before">{was}</span>}
                    {was !== '' && is !== '' && ' → '}
                    {is !== '' && <span class="after">{is}</span>}
                    {was === '' && is === '' && <span class="muted">{common.unset}</span>}
                  </div>
                );
              })}
            </pre>
          </div>
        );
      })}
      {rows.length > most && <p class="muted">{texts.moreRows(rows.length - most)}</p>}
    </div>
  );
}

interface DryRun {
  readonly changes?: readonly ChangedRow[];
}

/** Takes a change back, after it has shown what that writes. */
export function Undo({ id, onClose }: { id: number; onClose: (done: boolean) => void }) {
  const [error, setError] = useState('');
  const take = async (): Promise<void> => {
    try {
      await write('POST', `/changes/${id}/revert`);
      onClose(true);
    } catch (failed) {
      setError((failed as Error).message);
    }
  };
  return (
    <Dialog label={common.undo} onClose={() => onClose(false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void take();
        }}
      >
        <h1>{texts.undoIt(id)}</h1>
        <Read of={String(id)} read={() => write<DryRun>('POST', `/changes/${id}/revert?dryRun=1`)}>
          {({ changes = [] }) => (
            <>
              <Difference rows={changes} />
              {error !== '' && <Message tone="critical">{error}</Message>}
              <div class="row">
                <button class="button primary">{texts.undoRows(changes.length)}</button>
              </div>
            </>
          )}
        </Read>
        <div>
          <button type="button" class="button" onClick={() => onClose(false)}>
            {common.cancel}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Changes, the newest first, each with its rows and an undo; `query` says which. */
export function ChangeListing({ query = '' }: { query?: string }) {
  const seen = useStore(changesSeen);
  const [open, setOpen] = useState<number>();
  const [undone, setUndone] = useState<number>();
  return (
    <>
      <Read of={`${seen} ${query}`} read={(signal) => get<ChangeList>(`/changes?limit=100${query}`, signal)}>
        {({ changes }) =>
          changes.length === 0 ? (
            <div class="empty">
              <strong>{texts.none}</strong>
              <p>{texts.noneYet}</p>
            </div>
          ) : (
            <ul class="list">
              {changes.map((change) => (
                <li key={change.id}>
                  <div class="grow stack">
                    <div class="row change">
                      <ChangeLine change={change} />
                      <div class="row">
                        <Ago time={change.time} />
                        <button
                          type="button"
                          class="button quiet"
                          aria-expanded={open === change.id}
                          onClick={() => setOpen(open === change.id ? undefined : change.id)}
                        >
                          {common.showOrHide(open === change.id)}
                        </button>
                        <button type="button" class="button quiet" onClick={() => setUndone(change.id)}>
                          {common.undo}
                        </button>
                      </div>
                    </div>
                    {open === change.id && (
                      <Read of={String(change.id)} read={(signal) => get<Change>(`/changes/${change.id}`, signal)}>
                        {({ changes: rows }) => <Difference rows={rows} />}
                      </Read>
                    )}
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Read>
      {undone !== undefined && <Undo id={undone} onClose={() => setUndone(undefined)} />}
    </>
  );
}

export const Changes = () => (
  <>
    <PageTitle title={texts.title} about={texts.about} />
    <Card title={common.history}>
      <ChangeListing />
    </Card>
  </>
);
