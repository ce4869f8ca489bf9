import { useEffect, useState } from 'preact/hooks';
import { get, getAt, inPath } from '../api/client.ts';
import { Card, Filter, Message, Read } from '../design/parts.tsx';
import { onEvent } from '../model/live.ts';
import { linkTo } from '../model/route.ts';
import { bodyOf, countsOf, type Dump, type Edits, isEdited, missingKeys, noEdits } from '../model/sheet.ts';
import { common } from '../texts/common.ts';
import { tables as texts } from '../texts/tables.ts';
import { Sheet } from './sheet.tsx';
import type { Meanings } from './tables.tsx';
import { WriteDialog, Written } from './write-dialog.tsx';

interface Table {
  readonly dump: Dump;
  readonly revision: number;
  readonly meanings: Meanings[string];
}

async function readTable(name: string, signal: AbortSignal): Promise<Table> {
  const [{ value, revision }, meanings] = await Promise.all([
    getAt<Readonly<Record<string, Dump>>>(`/tables/${inPath(name)}/dump`, signal),
    get<Meanings>(`/attributes/${inPath(`tables.${name}`)}`, signal),
  ]);
  return { dump: value[name]!, revision, meanings: meanings[`tables.${name}`] ?? {} };
}

/** Counts the changes of one table. */
function useChangesOf(table: string): number {
  const [count, setCount] = useState(0);
  useEffect(
    () =>
      onEvent((event) => {
        const concerns = event.kind === 'change' && event.rows.some((row) => row.table === table);
        if (concerns || event.kind === 'gap') setCount((before) => before + 1);
      }),
    [table],
  );
  return count;
}

/** A table as a spreadsheet; all that is edited is written as one change. */
export function TablePage({ name }: { name: string }) {
  const changes = useChangesOf(name);
  const [edits, setEdits] = useState<Edits>(noEdits);
  const [readAt, setReadAt] = useState(0);
  const [isWriting, setWriting] = useState(false);
  const [written, setWritten] = useState<number>();
  const [filter, setFilter] = useState('');
  const hasEdits = isEdited(edits);
  // What somebody is editing does not change below the fingers.
  useEffect(() => {
    if (!hasEdits) setReadAt(changes);
  }, [changes, hasEdits]);
  const isStale = hasEdits && changes !== readAt;
  return (
    <>
      <header>
        <h1 class="mono">{name}</h1>
        <a href={linkTo('/tables')}>{texts.all}</a>
      </header>
      {written !== undefined && <Written key={written} change={written} onClose={() => setWritten(undefined)} />}
      <Read key={name} of={String(readAt)} read={(signal) => readTable(name, signal)}>
        {({ dump, revision, meanings }) => {
          const isReadOnly = dump.keys.join() === 'recid';
          const missing = missingKeys(dump.keys, edits);
          return (
            <>
              <Card
                title={common.rows(dump.rows.length)}
                side={
                  <>
                    <Filter label={texts.rows} hint={texts.rowsHint} value={filter} onValue={setFilter} />
                    {!isReadOnly && (
                      <button
                        type="button"
                        class="button"
                        onClick={() =>
                          setEdits({ ...edits, added: [{ id: crypto.randomUUID(), row: {} }, ...edits.added] })
                        }
                      >
                        {texts.addRow}
                      </button>
                    )}
                  </>
                }
              >
                {isReadOnly && <p class="body muted">{texts.readOnly}</p>}
                <Sheet
                  name={name}
                  dump={dump}
                  meanings={meanings}
                  edits={edits}
                  filter={filter}
                  {...(isReadOnly ? {} : { onEdit: setEdits })}
                />
              </Card>
              {hasEdits && (
                <div class="pending" role="region" aria-label={texts.notWritten}>
                  <p class="grow">
                    {texts.notWritten} <strong>{texts.pending(...countsOf(edits))}</strong>
                    {missing.length > 0 && ` ${texts.incomplete(missing.join(', '))}`}
                  </p>
                  <button
                    type="button"
                    class="button primary"
                    disabled={missing.length > 0}
                    onClick={() => setWriting(true)}
                  >
                    {texts.show}
                  </button>
                  <button type="button" class="button" onClick={() => setEdits(noEdits)}>
                    {texts.discard}
                  </button>
                  {isStale && (
                    <div class="row wrap grow-wide">
                      <Message tone="warning">{texts.stale}</Message>
                      <button type="button" class="button" onClick={() => setReadAt(changes)}>
                        {texts.again}
                      </button>
                    </div>
                  )}
                </div>
              )}
              {isWriting && (
                <WriteDialog
                  title={texts.write(name)}
                  isWide
                  writing={{
                    method: 'PUT',
                    path: `/tables/${inPath(name)}/rows`,
                    body: { ...bodyOf(dump, edits), since: revision },
                  }}
                  onClose={() => setWriting(false)}
                  onWritten={(change) => {
                    setWritten(change);
                    setEdits(noEdits);
                  }}
                />
              )}
            </>
          );
        }}
      </Read>
    </>
  );
}
