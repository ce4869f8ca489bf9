// The connection to the serial console of a node, begun again by itself whatever ends it.
import { get, inPath, Refusal, root } from '../api/client.ts';
import type { ConsoleMessage, ConsoleRequest, NodeConsole } from '../api/types.ts';
import { texts } from '../texts/serial.ts';
import { linkTo } from './route.ts';
import { Store } from './store.ts';

export type ConsoleState = Extract<ConsoleMessage, { type: 'state' }>;

export interface LineState {
  /** `refused`: it is not tried again by itself. */
  readonly phase: 'opening' | 'open' | 'waiting' | 'refused';
  /** What the server said last. */
  readonly shown?: ConsoleState;
  /** Why it is not open. */
  readonly why: string;
  /** What somebody should read, the oldest first. */
  readonly notices: readonly string[];
}

interface LineOptions {
  readonly node: string;
  /** Only looks on, whatever the policy allows. */
  readonly isView: boolean;
  /** It begins anew: the last output comes again. */
  began(): void;
  output(bytes: Uint8Array): void;
}

export interface SerialLine {
  readonly state: Store<LineState>;
  type(bytes: Uint8Array<ArrayBuffer>): void;
  ask(request: ConsoleRequest): void;
  tell(notice: string): void;
  connectNow(): void;
  close(): void;
}

const mostNotices = 4;
const longestWait = 30;
/** Bytes of one message; the server takes no larger ones. */
const largestMessage = 32_768;

export const consolePage = (node: string): string => linkTo(`/nodes/${inPath(node)}/console`);

const server = location.origin.replace(/^http/, 'ws');

/** Whether it may be otherwise in a while. */
const passes = ({ status }: Refusal): boolean => status === 0 || status === 429 || status >= 500;

export function openLine({ node, isView, began, output }: LineOptions): SerialLine {
  const state = new Store<LineState>({ phase: 'opening', why: '', notices: [] });
  let socket: WebSocket | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let attempts = 0;
  let turn = 0;

  const change = (part: Partial<LineState>): void => state.set({ ...state.value, ...part });
  const tell = (notice: string): void => change({ notices: [...state.value.notices, notice].slice(-mostNotices) });

  function retry(why: string): void {
    const seconds = Math.min(longestWait, 2 ** attempts++);
    change({ phase: 'waiting', why: texts.triesAgain(why, seconds) });
    timer = setTimeout(() => void connect(), seconds * 1_000);
  }

  function end(): void {
    turn++;
    clearTimeout(timer);
    socket?.close();
    socket = undefined;
  }

  async function connect(): Promise<void> {
    end();
    const mine = turn;
    change({ phase: 'opening', why: '' });
    try {
      // A browser says nothing of why a WebSocket was refused.
      const { [node]: shown } = await get<Readonly<Record<string, NodeConsole>>>(`/nodes/${inPath(node)}/console`);
      if (mine !== turn) return;
      if (shown === undefined) return change({ phase: 'refused', why: texts.noNode(node) });
      if (shown.state === 'closed' && shown.message !== '') return change({ phase: 'refused', why: shown.message });
      follow(isView || !shown.mayWrite, mine);
    } catch (error) {
      if (mine !== turn) return;
      const why = (error as Error).message;
      if (error instanceof Refusal && !passes(error)) change({ phase: 'refused', why });
      else retry(why);
    }
  }

  function follow(looksOn: boolean, mine: number): void {
    const made = new WebSocket(`${server}${root}/nodes/${inPath(node)}/console${looksOn ? '?view=1' : ''}`);
    made.binaryType = 'arraybuffer';
    socket = made;
    let why: string = texts.notOpened;
    made.addEventListener('open', () => {
      if (mine !== turn) return;
      why = texts.lost;
      began();
    });
    made.addEventListener('message', ({ data }: MessageEvent<string | ArrayBuffer>) => {
      if (mine !== turn) return;
      if (typeof data !== 'string') return output(new Uint8Array(data));
      const message = JSON.parse(data) as ConsoleMessage;
      if (message.type === 'state') {
        attempts = 0;
        change({ phase: 'open', why: '', shown: message });
      } else if (message.type === 'end') why = message.message;
      else tell(message.type === 'cut' ? texts.cut(message.bytes) : message.message);
    });
    made.addEventListener('close', () => {
      if (mine === turn) retry(why);
    });
  }

  void connect();
  return {
    state,
    type(bytes) {
      if (socket?.readyState !== WebSocket.OPEN) return;
      for (let at = 0; at < bytes.length; at += largestMessage) socket.send(bytes.subarray(at, at + largestMessage));
    },
    ask(request) {
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(request));
    },
    tell,
    connectNow() {
      attempts = 0;
      void connect();
    },
    close: end,
  };
}
