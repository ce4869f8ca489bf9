import type { WebSocket } from 'ws';
import type { ConsoleMessage, ConsoleRequest } from '../../consoles/index.ts';
import type { Invocation } from '../command.ts';
import { oneLine } from '../output.ts';
import { withLocalTimes } from '../times.ts';
import { type EscapeAction, EscapeKeys, helpLines } from './escape-keys.ts';
import { rawKeyboard } from './raw-keyboard.ts';

type State = Extract<ConsoleMessage, { type: 'state' }>;

const requests: Readonly<Partial<Record<EscapeAction, ConsoleRequest>>> = {
  ask: { type: 'ask' },
  take: { type: 'take' },
  look: { type: 'release' },
  break: { type: 'break' },
  reconnect: { type: 'reconnect' },
  takeover: { type: 'takeover' },
};

/** Attributes and cursor as they were: whatever the machine printed last. */
const restored = '\u001b[0m\u001b[?25h';

/** Somebody at the console of a node, until they or the server end it. Answers the exit status. */
export function useConsole({ terminal, signal }: Invocation, socket: WebSocket): Promise<number> {
  const keys = new EscapeKeys();
  let state: State | undefined;
  let isEnded = false;
  let asker: number | undefined;
  const show = (bytes: Uint8Array | string): void => {
    if (process.stdout.write(bytes)) return;
    // The server leaves out what a slow terminal cannot show in time.
    socket.pause();
    process.stdout.once('drain', () => socket.resume());
  };
  const say = (text: string): void => {
    const line = `[muster: ${withLocalTimes(oneLine(text))}]`;
    if (terminal.stdout) show(`\r\n${line}\r\n`);
    else process.stderr.write(`${line}\n`);
  };
  return new Promise((resolve) => {
    const end = (code: number, why?: string): void => {
      if (isEnded) return;
      isEnded = true;
      keyboard.restore();
      if (why !== undefined) say(why);
      socket.close(1_000);
      // The process ends then, whatever has not been written.
      process.stdout.write(terminal.stdout ? restored : '', () => resolve(code));
    };
    const act = (action: EscapeAction | 'unknown'): void => {
      const request = action === 'unknown' ? undefined : requests[action];
      if (request) return socket.send(JSON.stringify(request));
      if (action === 'end') return end(0, 'The console was left.');
      if (action === 'who') return describe(state, say);
      if (action === 'give') {
        if (asker === undefined) return say('Nobody has asked for the keyboard.');
        return socket.send(JSON.stringify({ type: 'give', to: asker } satisfies ConsoleRequest));
      }
      if (action === 'unknown') say('There is no such key; Ctrl-E c ? shows those that there are.');
      else for (const line of helpLines) say(line);
    };
    const keyboard = rawKeyboard(terminal.stdin, {
      typed(bytes) {
        for (const piece of keys.read(bytes)) {
          if (typeof piece === 'string') act(piece);
          else socket.send(piece);
        }
        return socket.bufferedAmount < mostUnsent;
      },
      // What was piped in has been typed: the machine may have something to say to it.
      ended() {
        isTyped = true;
        heard();
      },
    });
    // What is piped in is not for a machine that is not there yet.
    if (!terminal.stdin) keyboard.hold();
    const resume = setInterval(() => {
      if (socket.bufferedAmount < mostUnsent && (terminal.stdin || state?.state === 'connected')) keyboard.resume();
    }, 20).unref();
    let isTyped = false;
    let silence: NodeJS.Timeout | undefined;
    const heard = (): void => {
      clearTimeout(silence);
      if (isTyped) silence = setTimeout(() => end(0), longestSilence);
    };
    signal.addEventListener('abort', () => end(130));
    socket.on('message', (data, isBinary) => {
      if (isBinary) {
        heard();
        return show(data as Buffer);
      }
      const message = JSON.parse((data as Buffer).toString()) as ConsoleMessage;
      if (message.type === 'state') {
        announce(state, message, say);
        state = message;
      } else if (message.type === 'notice') {
        asker = Number(/\(viewer (\d+)\) asks/.exec(message.message)?.[1] ?? asker) || undefined;
        say(message.message);
      } else if (message.type === 'cut')
        say(`${message.bytes} bytes of output are missing: this terminal was too slow.`);
      else end(1, message.message);
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      clearInterval(resume);
      end(1, 'The connection to the server broke off.');
    });
    socket.resume();
  });
}

/** Milliseconds without output after which a session ends whose input was piped in. */
const longestSilence = 2_000;
/** Bytes that wait for the network before more is read from the keyboard. */
const mostUnsent = 65_536;

/** Says what is new of a state. */
function announce(before: State | undefined, now: State, say: (text: string) => void): void {
  if (before?.state !== now.state || before.message !== now.message) {
    if (now.state === 'connected')
      say(`${now.node} is connected (${now.way}). Ctrl-E c . ends, Ctrl-E c ? shows help.`);
    else if (now.state === 'waiting') say(`${now.node} is not connected: ${now.message}`);
  }
  if (before === undefined) {
    const writer = now.viewers.find(({ writes }) => writes);
    if (!now.writes && writer) say(`${writer.user} is typing; you look on. Ctrl-E c a asks for the keyboard.`);
    else if (!now.mayWrite) say('You look on.');
    return;
  }
  for (const { viewer, user } of now.viewers)
    if (!before.viewers.some((each) => each.viewer === viewer)) say(`${user} has come (viewer ${viewer}).`);
  for (const { viewer, user } of before.viewers)
    if (!now.viewers.some((each) => each.viewer === viewer)) say(`${user} has left (viewer ${viewer}).`);
}

function describe(state: State | undefined, say: (text: string) => void): void {
  for (const { viewer, user, client, since, writes } of state?.viewers ?? [])
    say(
      `viewer ${viewer}${viewer === state?.viewer ? ' (you)' : ''}: ${user} from ${client} since ${since}${writes ? ', types' : ''}`,
    );
}
