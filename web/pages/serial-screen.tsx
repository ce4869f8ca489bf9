import { useEffect, useRef, useState } from 'preact/hooks';
import { Message } from '../design/parts.tsx';
import { type LineState, openLine, type SerialLine } from '../model/serial-line.ts';
import { Store, useStore } from '../model/store.ts';
import type { SerialTerminal } from '../terminal/terminal.ts';
import { texts } from '../texts/serial.ts';

/** The line to a console, and the terminal that shows it. */
export interface Serial {
  readonly line: SerialLine;
  readonly terminal: SerialTerminal;
}

interface ScreenProps {
  readonly node: string;
  /** Looks on only, in so many rows. */
  readonly rows?: number;
  /** Undefined: it is closed. */
  onSerial(serial: Serial | undefined): void;
}

/** Milliseconds between two sentences about output that is missing. */
const cutPace = 1_000;

function missing(tell: (sentence: string) => void): (bytes: number) => void {
  let bytes = 0;
  return (more) => {
    if (bytes === 0)
      setTimeout(() => {
        tell(texts.cut(bytes));
        bytes = 0;
      }, cutPace);
    bytes += more;
  };
}

async function begin(element: HTMLElement, { node, rows }: ScreenProps): Promise<Serial & { close(): void }> {
  const { openTerminal } = await import('../terminal/terminal.ts');
  const terminal = openTerminal({
    element,
    label: texts.consoleOf(node),
    ...(rows === undefined ? {} : { rows }),
    typed: (bytes) => line.type(bytes),
    leftOut: missing((sentence) => line.tell(sentence)),
  });
  const line = openLine({
    node,
    isView: rows !== undefined,
    began: () => terminal.reset(),
    output: (bytes) => terminal.write(bytes),
  });
  let isTyping = false;
  // Keys count while the server says that they do.
  const unsubscribe = line.state.subscribe(() => {
    const { phase, shown } = line.state.value;
    const types = phase === 'open' && shown?.writes === true;
    if (types === isTyping) return;
    isTyping = types;
    terminal.setTyping(types);
    if (types && document.activeElement === document.body) terminal.focus();
  });
  const close = (): void => {
    unsubscribe();
    line.close();
    terminal.dispose();
  };
  return { line, terminal, close };
}

/** What a machine prints, and room for what somebody types. */
export function Screen(props: ScreenProps) {
  const { node, rows, onSerial } = props;
  const element = useRef<HTMLDivElement>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    let isGone = false;
    let close = (): void => {};
    const show = async (): Promise<void> => {
      try {
        const serial = await begin(element.current!, props);
        close = serial.close;
        if (isGone) close();
        else onSerial(serial);
      } catch {
        setFailed(true);
      }
    };
    void show();
    return () => {
      isGone = true;
      close();
      onSerial(undefined);
    };
  }, [node]);
  return (
    <div class={rows === undefined ? 'screen' : 'screen tile'}>
      {hasFailed && <Message tone="critical">{texts.notLoaded}</Message>}
      <div ref={element} class="screen-room" />
    </div>
  );
}

const none = new Store<LineState>({ phase: 'opening', why: '', notices: [] });

/** What the line says now. */
export const useLine = (serial: Serial | undefined): LineState => useStore(serial?.line.state ?? none);
