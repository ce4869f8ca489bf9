import { useEffect, useState } from 'preact/hooks';
import { Badge, Card } from '../design/parts.tsx';
import { consolePage } from '../model/serial-line.ts';
import { common } from '../texts/common.ts';
import { texts } from '../texts/serial.ts';
import { toneOf } from './serial.tsx';
import { Screen, type Serial, useLine } from './serial-screen.tsx';

/** Each is a connection of its own. */
const mostTiles = 12;
const rows = 24;

/** The console of a node, small, to look on. */
function Tile({ node }: { node: string }) {
  const [serial, setSerial] = useState<Serial>();
  const state = useLine(serial);
  const [tone, word] = toneOf(state);
  const why = state.why === '' ? (state.shown?.message ?? '') : state.why;
  const writer = state.shown?.viewers.find(({ writes }) => writes)?.user;
  return (
    <section class="console-tile" aria-label={texts.consoleOf(node)}>
      <header>
        <a class="cut grow" href={consolePage(node)} title={node}>
          {node}
        </a>
        {writer !== undefined && <span class="muted small cut">{texts.isTyping(writer)}</span>}
        <Badge tone={tone}>{word}</Badge>
      </header>
      <Screen node={node} rows={rows} onSerial={setSerial} />
      {why !== '' && <p class="small why">{why}</p>}
    </section>
  );
}

/** Some consoles beside each other, and a way to the others. */
export function LiveTiles({ nodes, isChosen }: { nodes: readonly string[]; isChosen: boolean }) {
  const [first, setFirst] = useState(0);
  // The list may have become shorter.
  const from = Math.min(first, Math.max(0, Math.ceil(nodes.length / mostTiles) - 1) * mostTiles);
  useEffect(() => setFirst(0), [isChosen]);
  const shown = nodes.slice(from, from + mostTiles);
  const isPaged = nodes.length > mostTiles;
  return (
    <Card
      title={texts.live}
      side={
        <>
          <span class="muted small">{isChosen ? texts.liveSelected : texts.liveOpen}</span>
          {isPaged && (
            <>
              <span class="muted small numbers">{common.partOf(from + 1, from + shown.length, nodes.length)}</span>
              <button type="button" class="button" disabled={from === 0} onClick={() => setFirst(from - mostTiles)}>
                {texts.previous}
              </button>
              <button
                type="button"
                class="button"
                disabled={from + mostTiles >= nodes.length}
                onClick={() => setFirst(from + mostTiles)}
              >
                {texts.next}
              </button>
            </>
          )}
        </>
      }
    >
      {shown.length === 0 ? (
        <p class="empty">{isChosen ? common.selectionIsEmpty : texts.noTiles}</p>
      ) : (
        <div class="console-tiles">
          {shown.map((node) => (
            <Tile key={node} node={node} />
          ))}
        </div>
      )}
    </Card>
  );
}
