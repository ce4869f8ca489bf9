import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { scriptRequest } from './script-request.ts';

/** The text that a path leads to; undefined: whatever is there, it is left to the HTTP server. A failure is too. */
export type FindScript = (path: string, socket: Socket) => Promise<string | undefined>;

/** Lets a connection in and returns what to do when it is closed; undefined: it is not let in. */
export type Admit = (socket: Socket) => (() => void) | undefined;

/** Milliseconds that a connection may take to ask something. */
const patience = 15_000;
const rounds = 5_000;

type Take = (this: Server, socket: Socket) => void;

/**
 * Answers requests for boot scripts by itself, at half of what a request costs in node:http: a rack that boots opens a connection for
 * each. What is not such a request, to the letter, goes to the HTTP server with all that was read of it.
 */
export function answerScripts(server: Server, admit: Admit, find: FindScript): { destroyAll(): void } {
  const takers = server.listeners('connection') as Take[];
  server.removeAllListeners('connection');
  const waiting = new Map<Socket, number>();
  const sweep = setInterval(() => {
    const late = Date.now() - patience;
    for (const [socket, since] of waiting) if (since < late) socket.destroy();
  }, rounds).unref();
  server.on('close', () => clearInterval(sweep));

  server.on('connection', (socket: Socket) => {
    const release = admit(socket);
    if (!release) {
      socket.destroy();
      return;
    }
    let unread: Buffer | undefined;
    /** Bytes of what is being answered; 0: nothing is. */
    let asked = 0;
    let hasEnded = false;
    const handOver = (): void => {
      waiting.delete(socket);
      socket.off('data', take).off('end', end);
      socket.setNoDelay(true);
      for (const taker of takers) taker.call(server, socket);
      if (unread) socket.unshift(unread);
    };
    const answer = async (path: string, keep: boolean): Promise<void> => {
      const text = await find(path, socket).catch(() => undefined);
      const next = unread!.subarray(asked);
      asked = 0;
      if (socket.destroyed) return;
      if (text === undefined) {
        // The HTTP server takes nothing from who has ended.
        if (hasEnded) socket.end(nothing);
        else handOver();
        return;
      }
      waiting.set(socket, Date.now());
      const length = Buffer.byteLength(text);
      const reply = head(length, keep) + text;
      const encoding = length === text.length ? 'latin1' : 'utf8';
      if (!keep || hasEnded) {
        socket.write(reply, encoding);
        // The other side's end is not waited for. All of the request is read, so what is sent arrives.
        if (socket.writableLength === 0) socket.destroy();
        else socket.destroySoon();
        return;
      }
      const isTaken = socket.write(reply, encoding);
      // Who asks on without reading waits, and not for ever: nothing is kept for them beyond one answer.
      if (!isTaken) socket.pause().once('drain', () => socket.resume());
      // What came meanwhile waits for no further sign.
      unread = undefined;
      if (next.length > 0) take(next);
    };
    const take = (chunk: Buffer): void => {
      if (socket.writableEnded) return;
      unread = unread ? Buffer.concat([unread, chunk]) : chunk;
      if (asked > 0) {
        if (unread.length > mostUnread) socket.destroy();
        return;
      }
      const request = scriptRequest(unread);
      if (!request) {
        handOver();
        return;
      }
      asked = unread.length;
      void answer(request.path, request.keep);
    };
    const end = (): void => {
      hasEnded = true;
      if (asked === 0) socket.end();
    };
    waiting.set(socket, Date.now());
    socket.on('data', take);
    socket.on('end', end);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      waiting.delete(socket);
      release();
    });
  });
  return {
    destroyAll() {
      for (const socket of waiting.keys()) socket.destroy();
    },
  };
}

/** Of what comes before there is an answer. */
const mostUnread = 65_536;

let second = 0;
let date = '';
function now(): string {
  const seconds = Math.floor(Date.now() / 1_000);
  if (seconds !== second) {
    second = seconds;
    date = new Date(seconds * 1_000).toUTCString();
  }
  return date;
}

const nothing =
  'HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 31\r\nConnection: close\r\n\r\nThere is nothing at this path.\n';

const head = (length: number, keep: boolean): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${length}\r\nCache-Control: no-store\r\n` +
  `Date: ${now()}\r\nConnection: ${keep ? 'keep-alive' : 'close'}\r\n\r\n`;
