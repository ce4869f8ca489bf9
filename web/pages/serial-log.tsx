import { useEffect, useRef, useState } from 'preact/hooks';
import { get, inPath } from '../api/client.ts';
import type { ConsoleLogs } from '../api/types.ts';
import { Card, Read } from '../design/parts.tsx';
import { momentOf } from '../model/moments.ts';
import { spans, texts } from '../texts/serial.ts';

interface Asked {
  readonly text: string;
  readonly since: string;
  /** So that the same is read again. */
  readonly turn: number;
}

const mostLines = 500;

interface LogFormProps {
  readonly since: string;
  /** What the button says while there is nothing to search for. */
  readonly empty: string;
  onAsk(text: string, since: string): void;
}

/** What and since when to search. */
export function LogForm({ since, empty, onAsk }: LogFormProps) {
  const [text, setText] = useState('');
  const [span, setSpan] = useState(since);
  return (
    <form
      class="log-form"
      onSubmit={(event) => {
        event.preventDefault();
        onAsk(text.trim(), span);
      }}
    >
      <input
        class="field grow"
        type="search"
        aria-label={texts.searchIn}
        placeholder={texts.searchIn}
        maxLength={256}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <label class="inline-label">
        {texts.since}
        <select class="field" value={span} onChange={(event) => setSpan(event.currentTarget.value)}>
          {spans.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <button class="button">{text.trim() === '' ? empty : texts.search}</button>
    </form>
  );
}

/** The hour; of other days the day too. */
function shortTime(time: Date): string {
  const clock = time.toLocaleTimeString('en-GB');
  if (time.toDateString() === new Date().toDateString()) return clock;
  return `${time.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${clock.slice(0, 5)}`;
}

/** Lines of a log: each begins with its time, and those of muster itself then with `--`. */
export function LogLines({ lines, label }: { lines: readonly string[]; label: string }) {
  const list = useRef<HTMLOListElement>(null);
  // The newest are at the end.
  useEffect(() => list.current?.scrollTo(0, list.current.scrollHeight), [lines]);
  return (
    <ol ref={list} class="log-lines" tabIndex={0} aria-label={label}>
      {lines.map((line, i) => {
        const blank = line.indexOf(' ');
        const time = new Date(line.slice(0, blank));
        const text = line.slice(blank + 1);
        return (
          <li key={i} class={text.startsWith('-- ') ? 'muted' : ''}>
            <time dateTime={time.toISOString()} title={momentOf(time)}>
              {shortTime(time)}
            </time>
            <span>{text}</span>
          </li>
        );
      })}
    </ol>
  );
}

/** What the console of a node printed. */
export function NodeLog({ node }: { node: string }) {
  const [{ text, since, turn }, setAsked] = useState<Asked>({ text: '', since: '1h', turn: 0 });
  const query = new URLSearchParams({ since, lines: String(mostLines), ...(text === '' ? {} : { search: text }) });
  return (
    <Card title={texts.log}>
      <div class="body">
        <LogForm
          since={since}
          empty={texts.readAgain}
          onAsk={(asked, span) => setAsked({ text: asked, since: span, turn: turn + 1 })}
        />
      </div>
      <Read
        of={`${query} ${turn}`}
        read={(signal) => get<ConsoleLogs>(`/nodes/${inPath(node)}/consolelog?${query}`, signal)}
      >
        {({ [node]: lines = [] }) =>
          lines.length === 0 ? (
            <p class="body muted">{text === '' ? texts.nothingLogged : texts.nothingFound}</p>
          ) : (
            <>
              {lines.length === mostLines && <p class="body muted small">{texts.lastLines(mostLines)}</p>}
              <LogLines lines={lines} label={texts.logOf(node)} />
            </>
          )
        }
      </Read>
    </Card>
  );
}
