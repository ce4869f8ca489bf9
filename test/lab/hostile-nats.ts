import { readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** A message as it passed. */
export interface Passed {
  readonly subject: string;
  readonly data: Buffer;
}

interface Client {
  readonly socket: TLSSocket;
  /** Subjects that it reads, by their ids. */
  readonly subscriptions: Map<string, string>;
}

/** What it does with a new connection instead of serving it. */
export type Greeting = (socket: Socket) => void;

/** A NATS server that somebody has taken over: it has the right certificate, asks nobody for a key, and keeps all that passes. */
export interface HostileNats {
  readonly passed: Passed[];
  /** Connections that were made, and those that are open. */
  connections(): { readonly made: number; readonly open: number };
  /** False: a message is not delivered. */
  passes: (message: Passed) => boolean;
  /** Undefined: it serves. */
  greeting: Greeting | undefined;
  /** Sends a message to everybody, by whatever subscription, whether it asked for the subject or not. */
  inject(message: Passed): void;
  /** Sends bytes to everybody as they are. */
  raw(bytes: Buffer): void;
  /** Ends all connections. */
  hangUp(): void;
  stop(): Promise<void>;
}

const crlf = '\r\n';
const greetingLine = `INFO ${JSON.stringify({ server_id: 'H', version: '2.9.0', proto: 1, max_payload: 1_048_576, tls_required: true, nonce: 'hostile-nonce' })}${crlf}`;

export async function startHostileNats(certificate: string, key: string, port: number): Promise<HostileNats> {
  const clients = new Set<Client>();
  const sockets = new Set<Socket>();
  let made = 0;
  const credentials = { cert: readFileSync(certificate), key: readFileSync(key) };
  const server: Server = createServer((socket) => {
    made++;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    if (nats.greeting) {
      nats.greeting(socket);
      return;
    }
    socket.write(greetingLine);
    const secure = new TLSSocket(socket, { isServer: true, ...credentials });
    const client: Client = { socket: secure, subscriptions: new Map() };
    clients.add(client);
    secure.on('error', () => undefined).on('close', () => clients.delete(client));
    serve(client, (message) => deliver(message));
  });
  const deliver = (message: Passed): void => {
    nats.passed.push(message);
    if (!nats.passes(message)) return;
    for (const client of clients)
      for (const [id, subscription] of client.subscriptions)
        if (isWithin(message.subject, subscription)) send(client, id, message);
  };
  const nats: HostileNats = {
    passed: [],
    connections: () => ({ made, open: sockets.size }),
    passes: () => true,
    greeting: undefined,
    inject(message) {
      for (const client of clients) for (const id of client.subscriptions.keys()) send(client, id, message);
    },
    raw(bytes) {
      for (const { socket } of clients) socket.write(bytes);
    },
    hangUp() {
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      nats.hangUp();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return nats;
}

function send({ socket }: Client, id: string, { subject, data }: Passed): void {
  socket.write(Buffer.concat([Buffer.from(`MSG ${subject} ${id} ${data.length}${crlf}`), data, Buffer.from(crlf)]));
}

/** Reads what a client says: its subscriptions, and its messages. */
function serve(client: Client, publish: (message: Passed) => void): void {
  let waiting = Buffer.alloc(0);
  client.socket.on('data', (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    for (;;) {
      const end = waiting.indexOf(crlf);
      if (end < 0) return;
      const [verb = '', ...words] = waiting.subarray(0, end).toString().split(/ +/);
      let used = end + crlf.length;
      if (verb === 'PUB') {
        const size = Number(words.at(-1));
        if (waiting.length < used + size + crlf.length) return;
        publish({ subject: words[0]!, data: Buffer.from(waiting.subarray(used, used + size)) });
        used += size + crlf.length;
      } else if (verb === 'SUB') client.subscriptions.set(words.at(-1)!, words[0]!);
      else if (verb === 'PING') client.socket.write(`PONG${crlf}`);
      waiting = waiting.subarray(used);
    }
  });
}

function isWithin(subject: string, subscription: string): boolean {
  const pattern = subscription.split('.').map((part) => (part === '*' ? '[^.]+' : part === '>' ? '.+' : part));
  return new RegExp(`^${pattern.join('\\.')}$`).test(subject);
}
