import { vi, expect } from 'vitest';
import { WebSocket } from 'ws';
import type { ConsoleMessage, ConsoleRequest } from '../../src/consoles/index.ts';
import type { TestServer } from '../harness/server.ts';

type State = Extract<ConsoleMessage, { type: 'state' }>;

/** Somebody at a console, over HTTPS as any program. */
export class ConsoleClient {
  readonly socket: WebSocket;
  readonly messages: ConsoleMessage[] = [];
  output = '';
  closed: number | undefined;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data, isBinary) => {
      if (isBinary) this.output += (data as Buffer).toString();
      else this.messages.push(JSON.parse((data as Buffer).toString()));
    });
    socket.on('error', () => {});
    socket.once('close', (code) => (this.closed = code));
  }

  get state(): State {
    return this.messages.findLast((message) => message.type === 'state')!;
  }

  get notices(): string[] {
    return this.messages.flatMap((message) => (message.type === 'notice' ? message.message : []));
  }

  get end(): string | undefined {
    const last = this.messages.at(-1);
    return last?.type === 'end' ? last.message : undefined;
  }

  type(text: string): void {
    this.socket.send(Buffer.from(text));
  }

  ask(request: ConsoleRequest): void {
    this.socket.send(JSON.stringify(request));
  }

  async leave(): Promise<void> {
    this.socket.close();
    await until(() => this.closed !== undefined);
  }
}

export const until = (holds: () => unknown): Promise<void> =>
  vi.waitFor(async () => expect(await holds()).toBeTruthy(), { timeout: 60_000, interval: 20 });

export interface Opening {
  readonly headers?: Readonly<Record<string, string>>;
  /** Null: no credentials. */
  readonly token?: string | null;
}

/** A client that is let in, or the status and body of the refusal. */
export function openConsole(
  { port, token: rootToken }: Pick<TestServer, 'port' | 'token'>,
  path: string,
  { headers = {}, token = rootToken }: Opening = {},
): Promise<ConsoleClient | { status: number; body: { error: string[]; errorcode: number } }> {
  const socket = new WebSocket(`wss://127.0.0.1:${port}/muster${path}`, {
    rejectUnauthorized: false,
    headers: { ...(token === null ? {} : { 'X-Auth-Token': token }), ...headers },
  });
  const client = new ConsoleClient(socket);
  return new Promise((resolve, reject) => {
    socket.once('open', () => resolve(client));
    socket.once('error', reject);
    socket.once('unexpected-response', (_request, response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.once('end', () => resolve({ status: response.statusCode!, body: JSON.parse(text) }));
    });
  });
}

/** One that must be let in, when the machine is connected. */
export async function atConsole(...args: Parameters<typeof openConsole>): Promise<ConsoleClient> {
  const client = await openConsole(...args);
  if (!(client instanceof ConsoleClient)) throw new Error(JSON.stringify(client));
  await until(() => client.state?.state === 'connected');
  return client;
}
