// The terminal, which is loaded when a console is opened: it is larger than all the rest.
import { FitAddon } from '@xterm/addon-fit';
import { type ITheme, Terminal } from '@xterm/xterm';
import sheet from '@xterm/xterm/css/xterm.css';
import { makeHarmless } from './harmless.ts';
import { keepPolicy } from './strict-styles.ts';

export interface TerminalOptions {
  readonly element: HTMLElement;
  /** What it is to somebody who does not see it. */
  readonly label: string;
  /** Of so many rows, drawn as small as it has to be; without it, it fills its element. */
  readonly rows?: number;
  typed?(bytes: Uint8Array<ArrayBuffer>): void;
  /** More came than could be drawn. */
  leftOut(bytes: number): void;
}

export interface SerialTerminal {
  write(bytes: Uint8Array): void;
  reset(): void;
  /** Whether keys count. */
  setTyping(isTyping: boolean): void;
  focus(): void;
  dispose(): void;
}

/** Consoles of machines have so many columns, whoever looks at them. */
const columns = 80;
/** A character of a monospaced font is about so many times as high as it is wide. */
const slenderness = 0.61;
const fontSizes = { smallest: 7, largest: 13, ofTiles: 4 };
const scrollBar = 16;
/** Bytes that wait to be drawn. */
const mostPending = 1 << 20;

const colorNames = [
  'black',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
  'white',
  'brightBlack',
  'brightRed',
  'brightGreen',
  'brightYellow',
  'brightBlue',
  'brightMagenta',
  'brightCyan',
  'brightWhite',
] as const;

keepPolicy();
const own = new CSSStyleSheet();
own.replaceSync(sheet);
document.adoptedStyleSheets.push(own);

function themeOf(element: HTMLElement): ITheme {
  const style = getComputedStyle(element);
  const color = (name: string): string => style.getPropertyValue(`--terminal-${name}`).trim();
  return {
    background: color('ground'),
    foreground: color('text'),
    cursor: color('text'),
    cursorAccent: color('ground'),
    selectionBackground: color('selection'),
    ...Object.fromEntries(colorNames.map((name, i) => [name, color(String(i))])),
  };
}

/** Leaves the terminal by keys alone: it takes all others. */
const isWayOut = ({ ctrlKey, shiftKey, code }: KeyboardEvent): boolean => ctrlKey && shiftKey && code === 'KeyX';

/** That the window has lost the focus is no business of the machine. */
const isFocusReport = (text: string): boolean => text === '\u001b[I' || text === '\u001b[O';

export function openTerminal({ element, label, rows, typed, leftOut }: TerminalOptions): SerialTerminal {
  const terminal = new Terminal({
    cols: columns,
    rows: rows ?? 24,
    disableStdin: true,
    fontFamily: getComputedStyle(element).fontFamily,
    fontSize: fontSizes.largest,
    // No text hides in the color of what is behind it.
    minimumContrastRatio: 4.5,
    scrollback: rows === undefined ? 5_000 : 0,
    theme: themeOf(element),
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  // What a machine asked before anybody typed was asked of somebody else.
  let hasTyped = false;
  makeHarmless(terminal, () => hasTyped);
  terminal.open(element);
  terminal.textarea!.setAttribute('aria-label', label);
  const fill = (): void => {
    const width = element.clientWidth;
    if (width === 0) return;
    const { smallest, largest, ofTiles } = fontSizes;
    const room = rows === undefined ? width - scrollBar : width;
    const size = Math.floor((2 * room) / (columns * slenderness)) / 2;
    terminal.options.fontSize = Math.max(rows === undefined ? smallest : ofTiles, Math.min(largest, size));
    if (rows === undefined) fit.fit();
  };
  const observer = new ResizeObserver(fill);
  observer.observe(element);
  fill();
  const encoder = new TextEncoder();
  terminal.onData((text) => {
    if (!isFocusReport(text)) typed?.(encoder.encode(text));
  });
  terminal.onBinary((text) => typed?.(Uint8Array.from(text, (character) => character.charCodeAt(0))));
  terminal.onKey(() => (hasTyped = true));
  terminal.attachCustomKeyEventHandler((event) => {
    if (!isWayOut(event)) return true;
    terminal.blur();
    return false;
  });
  let pending = 0;
  return {
    write(bytes) {
      if (pending > mostPending) return leftOut(bytes.length);
      pending += bytes.length;
      terminal.write(bytes, () => (pending -= bytes.length));
    },
    reset() {
      hasTyped = false;
      terminal.reset();
    },
    setTyping: (isTyping) => void (terminal.options.disableStdin = !isTyping),
    focus: () => terminal.focus(),
    dispose() {
      observer.disconnect();
      terminal.dispose();
    },
  };
}
