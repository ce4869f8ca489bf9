import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';
import { once } from 'node:events';

/** A way to a server that can be cut, as networks are. */
export interface Gate {
  readonly port: number;
  /** Connections that were made through it. */
  readonly passed: number;
  /** Cuts each connection once so many bytes of the server have passed. */
  cutAfter(bytes: number): void;
  /** When a client has sent a text, what the server answers does not pass; the connection is cut when the server has answered another text. */
  cutBetween(sent: string, answered: string): void;
  /** What a client sends still passes. What the server answers does not, once a connection has been agreed on. */
  keepReplies(): void;
  /** What the server answers waits until the function is called that this returns. */
  hold(): () => void;
  /** Cuts what is open, and refuses what comes. */
  close(): Promise<void>;
}

/** Listens on a free port, or where it is said. */
export async function openGate(target: NetConnectOpts, listen: string | number = 0): Promise<Gate> {
  const open = new Set<Socket>();
  let most = Number.POSITIVE_INFINITY;
  let [isKept, passed] = [false, 0];
  let held: (() => void)[] | undefined;
  let between: { readonly sent: string; readonly answered: string } | undefined;
  const server: Server = createServer((client) => {
    passed++;
    const inside = connect(target);
    let [received, sent, isAsked] = [0, 0, false];
    const end = (): void => {
      for (const socket of [client, inside]) {
        socket.destroy();
        open.delete(socket);
      }
    };
    for (const socket of [client, inside]) open.add(socket.on('error', end).on('close', end));
    client.on('data', (chunk) => {
      sent++;
      if (between && chunk.includes(between.sent)) isAsked = true;
      inside.write(chunk);
    });
    inside.on('data', (chunk) => {
      received += chunk.length;
      if (received > most || (isAsked && chunk.includes(between!.answered))) return end();
      if (held) return void held.push(() => client.write(chunk));
      // The first that a client sends asks for TLS; with its second it sends its request.
      if (!isAsked && (!isKept || sent < 2)) client.write(chunk);
    });
  });
  if (typeof listen === 'number') server.listen(listen, '127.0.0.1');
  else server.listen(listen);
  await once(server, 'listening');
  const address = server.address();
  return {
    port: typeof address === 'object' ? (address?.port ?? 0) : 0,
    get passed() {
      return passed;
    },
    cutAfter: (bytes) => (most = bytes),
    cutBetween: (sent, answered) => (between = { sent, answered }),
    keepReplies: () => (isKept = true),
    hold() {
      const waiting: (() => void)[] = (held = []);
      return () => {
        held = undefined;
        for (const answer of waiting) answer();
      };
    },
    async close() {
      for (const socket of open) socket.destroy();
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
