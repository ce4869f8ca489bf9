import type { ClientRequest, IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { TestServer } from './server.ts';

/** One block of a stream of events. */
export interface Block {
  readonly id: string | undefined;
  readonly event: string | undefined;
  // oxlint-disable-next-line no-explicit-any -- tests look into events of every shape
  readonly data: any;
}

export interface EventOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly token?: string;
  readonly after?: string;
  readonly root?: string;
}

/** A client that reads a stream of events as the specification of EventSource says. */
export class EventClient {
  readonly blocks: Block[] = [];
  lastEventId: string | undefined;
  isOver = false;
  response: IncomingMessage | undefined;
  readonly #sending: ClientRequest;
  #text = '';
  #wake: () => void = () => undefined;

  private constructor(sending: ClientRequest) {
    this.#sending = sending;
  }

  static open(server: TestServer, { query = {}, token = server.token, after, root = '/muster' }: EventOptions = {}) {
    const parameters = new URLSearchParams(query).toString();
    const sending = request({
      host: '127.0.0.1',
      port: server.port,
      ca: server.client.ca,
      path: `${root}/events?${parameters}`,
      headers: {
        'X-Auth-Token': token,
        Accept: 'text/event-stream',
        ...(after === undefined ? {} : { 'Last-Event-ID': after }),
      },
      agent: false,
    });
    const client = new EventClient(sending);
    return new Promise<EventClient>((resolve, reject) => {
      sending.once('error', reject);
      sending.once('response', (response) => {
        client.response = response;
        response.on('data', (chunk: Buffer) => client.#take(chunk.toString()));
        response.once('close', () => {
          client.isOver = true;
          client.#wake();
        });
        response.on('error', () => undefined);
        resolve(client);
      });
      sending.end();
    });
  }

  /** Those with data, without the ones that tell of the stream itself. */
  get events(): Block[] {
    return this.blocks.filter(({ event }) => event !== undefined && event !== 'ready');
  }

  /** Waits until there is something that the test finds in what has come. */
  async until<T>(find: (client: EventClient) => T | undefined | false): Promise<T> {
    for (;;) {
      const found = find(this);
      if (found !== undefined && found !== false) return found;
      if (this.isOver) throw new Error(`The stream is over: ${JSON.stringify(this.blocks)}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  ready(): Promise<Block> {
    return this.until(({ blocks }) => blocks.find(({ event }) => event === 'ready'));
  }

  /** Waits for the first event of which this holds. */
  event(holds: (data: Block['data'], kind: string) => boolean): Promise<Block> {
    return this.until(({ events }) => events.find(({ data, event }) => holds(data, event!)));
  }

  async over(): Promise<void> {
    while (!this.isOver) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  close(): void {
    this.#sending.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    for (let end = this.#text.indexOf('\n\n'); end >= 0; end = this.#text.indexOf('\n\n')) {
      this.#block(this.#text.slice(0, end).split('\n'));
      this.#text = this.#text.slice(end + 2);
    }
    this.#wake();
  }

  #block(lines: readonly string[]): void {
    const field = (name: string): string | undefined =>
      lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    const [id, event, data] = [field('id'), field('event'), field('data')];
    if (id !== undefined) this.lastEventId = id;
    this.blocks.push({ id, event, data: data === undefined ? undefined : JSON.parse(data) });
  }
}
