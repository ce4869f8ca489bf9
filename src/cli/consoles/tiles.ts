import type { WebSocket } from 'ws';
import type { ConsoleMessage } from '../../consoles/index.ts';
import type { Invocation } from '../command.ts';
import { oneLine } from '../output.ts';
import { PlainLines } from './plain-lines.ts';
import { rawKeyboard } from './raw-keyboard.ts';

/** Milliseconds between two pictures. */
const interval = 200;
const [fewestColumns, fewestLines] = [38, 5];

export interface Tile {
  readonly node: string;
  readonly socket: WebSocket;
}

interface Shown {
  readonly node: string;
  readonly lines: PlainLines;
  state: string;
}

/** How many tiles a terminal has room for. */
export const roomFor = (columns: number, rows: number): number =>
  Math.max(1, Math.floor(columns / fewestColumns)) * Math.max(1, Math.floor(rows / fewestLines));

/** A picture of all tiles, line by line. */
export function picture(tiles: readonly Shown[], columns: number, rows: number): string[] {
  const across = Math.min(tiles.length, Math.max(1, Math.floor(columns / fewestColumns)));
  const down = Math.ceil(tiles.length / across);
  const width = Math.floor(columns / across) - 1;
  const height = Math.max(2, Math.floor((rows - 1) / down));
  const lines: string[] = [];
  for (let row = 0; row < down; row++) {
    const inRow = tiles.slice(row * across, (row + 1) * across);
    for (let line = 0; line < height; line++)
      lines.push(inRow.map((tile) => fitted(lineOf(tile, line, height), width)).join('|'));
  }
  return lines;
}

function lineOf({ node, lines: { lines }, state }: Shown, line: number, height: number): string {
  if (line === 0) return `-- ${node} (${state}) `.padEnd(200, '-');
  return lines.slice(-(height - 1))[line - 1] ?? '';
}

/** Wide characters take two columns, so these are left out: a tile must not push the next one aside. */
const fitted = (text: string, width: number): string =>
  oneLine(text)
    .replaceAll(/[^ -~]/g, '?')
    .slice(0, width)
    .padEnd(width);

/** Shows the consoles of several nodes until somebody presses q. */
export function showTiles({ stdout, terminal, signal }: Invocation, tiles: readonly Tile[]): Promise<number> {
  const shown = tiles.map(({ node, socket }): Shown => {
    const tile: Shown = { node, lines: new PlainLines(100), state: 'connecting' };
    socket.on('message', (data, isBinary) => {
      if (isBinary) return tile.lines.add(data as Buffer);
      const message = JSON.parse((data as Buffer).toString()) as ConsoleMessage;
      if (message.type === 'state') tile.state = message.state;
      else if (message.type === 'end') tile.state = message.message;
    });
    socket.on('error', () => {});
    socket.once('close', () => (tile.state = tile.state.includes(' ') ? tile.state : 'left'));
    socket.resume();
    return tile;
  });
  return new Promise((resolve) => {
    let last = '';
    const draw = (): void => {
      const now = [...picture(shown, terminal.columns, process.stdout.rows || 24), 'q ends.'].join('\r\n');
      if (now !== last) stdout.draw(`\u001b[H${now}\u001b[J`);
      last = now;
    };
    const end = (): void => {
      clearInterval(timer);
      keyboard.restore();
      for (const { socket } of tiles) socket.close(1_000);
      stdout.draw('\u001b[?25h\u001b[?1049l');
      resolve(0);
    };
    const keyboard = rawKeyboard(terminal.stdin, {
      typed(bytes) {
        // Ctrl-C is a key like any other now.
        if (bytes.includes('q') || bytes.includes(3)) end();
        return true;
      },
      ended: () => {},
    });
    signal.addEventListener('abort', end);
    stdout.draw('\u001b[?1049h\u001b[?25l\u001b[2J');
    const timer = setInterval(draw, interval);
    draw();
  });
}
