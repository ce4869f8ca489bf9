import { useEffect, useState } from 'preact/hooks';
import { get, inPath } from '../api/client.ts';
import type { ConsoleLogs, OpenConsole } from '../api/types.ts';
import { Ago, Badge, Card, Message, Read, TableHead, type Tone } from '../design/parts.tsx';
import { byName } from '../model/ranges.ts';
import { selection } from '../model/selection.ts';
import { consolePage } from '../model/serial-line.ts';
import { useStore } from '../model/store.ts';
import { texts } from '../texts/serial.ts';
import { LiveTiles } from './console-tiles.tsx';
import { LogForm, LogLines } from './serial-log.tsx';

/** Milliseconds between two looks at which consoles are open. */
const pace = 5_000;
/** Lines of each node that a search shows. */
const mostLines = 50;

const toneOf = (state: string): Tone => (state === 'connected' ? 'ok' : state === 'waiting' ? 'warning' : '');

function OpenList({ consoles }: { consoles: readonly OpenConsole[] }) {
  if (consoles.length === 0)
    return (
      <div class="empty">
        <strong>{texts.noneOpen}</strong>
        <p>{texts.firstStep}</p>
        <pre class="code">{texts.firstCommand}</pre>
      </div>
    );
  return (
    <div class="console-list" tabIndex={0} role="region" aria-label={texts.open}>
      <table class="grid-table">
        <TableHead columns={texts.columns} />
        <tbody>
          {consoles.map(({ node, state, since, way, message, kept, writer, viewers }) => (
            <tr key={node}>
              <td>
                <a href={consolePage(node)}>{node}</a>
              </td>
              <td>
                <Badge tone={toneOf(state)}>{state}</Badge>
                {message !== '' && <div class="muted small">{message}</div>}
              </td>
              <td>{since !== '' && <Ago time={since} />}</td>
              <td class="mono">{way}</td>
              <td>{writer === '' ? <span class="muted">–</span> : writer}</td>
              <td>{viewers.filter(({ writes }) => !writes).length}</td>
              <td class="muted">{kept ? texts.always : texts.whileUsed}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What consoles have printed, whichever they are. */
function Search({ range }: { range: string }) {
  const [asked, setAsked] = useState<{ text: string; since: string; turn: number }>();
  const where = range === '' ? '/consolelog' : `/nodes/${inPath(range)}/consolelog`;
  const query =
    asked && new URLSearchParams({ since: asked.since, lines: String(mostLines), search: asked.text }).toString();
  return (
    <Card title={range === '' ? texts.searchAll : texts.searchSelected}>
      <div class="body stack">
        <LogForm
          since="1d"
          empty={texts.search}
          onAsk={(text, since) => setAsked(text === '' ? undefined : { text, since, turn: (asked?.turn ?? 0) + 1 })}
        />
        {!asked && <p class="muted small">{texts.searchHint}</p>}
      </div>
      {asked && (
        <Read of={`${where} ${query} ${asked.turn}`} read={(signal) => get<ConsoleLogs>(`${where}?${query}`, signal)}>
          {(logs) => {
            const found = Object.entries(logs);
            if (found.length === 0) return <p class="body muted">{texts.nothingFound}</p>;
            const lines = found.reduce((sum, [, own]) => sum + own.length, 0);
            return (
              <>
                <p class="body muted small">{texts.found(lines, found.length)}</p>
                {found.map(([node, own]) => (
                  <div key={node} class="found">
                    <h3>
                      <a href={consolePage(node)}>{node}</a>
                    </h3>
                    <LogLines lines={own} label={texts.logOf(node)} />
                  </div>
                ))}
              </>
            );
          }}
        </Read>
      )}
    </Card>
  );
}

/** The consoles that are open, read again while somebody looks at the page. */
function useConsoles(): { readonly consoles?: readonly OpenConsole[]; readonly error?: string } {
  const [state, setState] = useState<{ consoles?: readonly OpenConsole[]; error?: string }>({});
  useEffect(() => {
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      if (document.visibilityState !== 'visible') return;
      try {
        const consoles = await get<OpenConsole[]>('/consoles', controller.signal);
        setState({ consoles: consoles.sort((a, b) => byName(a.node, b.node)) });
      } catch (failed) {
        if (!controller.signal.aborted) setState((before) => ({ ...before, error: (failed as Error).message }));
      }
    };
    void read();
    const timer = setInterval(() => void read(), pace);
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, []);
  return state;
}

/** All serial consoles at once: which are open, what they print now, and what they have printed. */
export function Consoles() {
  const { consoles, error } = useConsoles();
  const { names, range, state } = useStore(selection);
  const isChosen = state === 'known';
  // A console that is open on demand stays open while it is shown here: pages alone must not keep it.
  const used = consoles?.filter(({ kept, writer }) => kept || writer !== '').map(({ node }) => node);
  const nodes = isChosen ? [...names].sort(byName) : used;
  return (
    <>
      <header>
        <h1>{texts.consoles}</h1>
      </header>
      {error !== undefined && <Message tone="critical">{error}</Message>}
      {nodes && <LiveTiles nodes={nodes} isChosen={isChosen} />}
      {consoles && (
        <Card title={texts.open} side={<Badge>{consoles.length.toLocaleString('en-US')}</Badge>}>
          <OpenList consoles={consoles} />
        </Card>
      )}
      <Search range={isChosen ? range : ''} />
    </>
  );
}
