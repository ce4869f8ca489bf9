import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { TestServer } from '../harness/server.ts';

export interface Line {
  /** Milliseconds since the request was sent. */
  readonly at: number;
  // oxlint-disable-next-line no-explicit-any -- tests look into lines of every shape
  readonly json: any;
}

/** A request whose reply is read line by line as it comes. */
export interface Stream {
  readonly status: number;
  readonly run: string;
  readonly lines: readonly Line[];
  /** Resolves when the reply has ended. */
  readonly ended: Promise<void>;
  /** Breaks the connection. */
  leave(): void;
}

/** Resolves when the head of the reply is there. */
export async function openStream(
  server: TestServer,
  method: string,
  path: string,
  body?: unknown,
  accept = 'application/x-ndjson',
): Promise<Stream> {
  const began = performance.now();
  const sending = request({
    host: '127.0.0.1',
    port: server.port,
    ca: server.client.ca,
    method,
    path: `/muster${path}`,
    agent: false,
    headers: { 'X-Auth-Token': server.token, Accept: accept, 'Content-Type': 'application/json' },
  });
  sending.end(body === undefined ? undefined : JSON.stringify(body));
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sending.once('response', resolve);
    sending.once('error', reject);
  });
  const lines: Line[] = [];
  let rest = '';
  response.on('data', (chunk: Buffer) => {
    const pieces = (rest + chunk.toString()).split('\n');
    rest = pieces.pop()!;
    for (const piece of pieces)
      if (piece !== '') lines.push({ at: performance.now() - began, json: JSON.parse(piece) });
  });
  const ended = new Promise<void>((resolve) => response.once('close', resolve));
  response.on('error', () => {});
  sending.on('error', () => {});
  return {
    status: response.statusCode!,
    run: String(response.headers['x-muster-run']),
    lines,
    ended,
    leave: () => sending.destroy(),
  };
}

/** All lines of a reply. */
export async function readStream(server: TestServer, method: string, path: string, body?: unknown): Promise<Stream> {
  const stream = await openStream(server, method, path, body);
  await stream.ended;
  return stream;
}
