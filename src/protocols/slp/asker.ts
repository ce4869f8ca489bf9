import { connect } from 'node:net';
import { unwatchAbort, watchAbort } from '../../core/aborts.ts';
import { limiter } from '../../core/limiter.ts';
import type { Port } from '../multicast/ports.ts';
import { sleep } from '../sleep.ts';
import { decodeReply, type Reply, statedLength } from './message.ts';
import type { Timing } from './timing.ts';
import type { Xids } from './xids.ts';

const mostConnections = 128;

export interface Agent {
  readonly address: string;
  readonly via: Port;
}

interface Waiting {
  readonly address: string;
  answer(reply: Reply): void;
}

/** What all that is asked in one search has in common. */
interface Surroundings {
  readonly port: number;
  readonly timing: Timing;
  readonly xids: Xids;
  readonly limit: AbortSignal;
}

/** Asks single agents, again if they are silent, and by TCP if the answer is too long for a datagram. */
export class Asker {
  readonly #search: Surroundings;
  readonly #waiting = new Map<number, Waiting>();
  readonly #connections = limiter(mostConnections);

  constructor(search: Surroundings) {
    this.#search = search;
  }

  /** Undefined: there is no answer, or no time left for it. */
  async ask(agent: Agent, request: (xid: number) => Buffer): Promise<Reply | undefined> {
    const xid = this.#search.xids.take();
    if (xid === undefined) return undefined;
    try {
      const packet = request(xid);
      const reply = await this.#byDatagram(agent, xid, packet);
      return reply?.overflow ? ((await this.whole(agent, packet)) ?? reply) : reply;
    } finally {
      this.#search.xids.giveBack(xid);
    }
  }

  /** The whole answer to a request whose answer did not fit a datagram. */
  whole({ address }: Agent, packet: Buffer): Promise<Reply | undefined> {
    const { port, timing, limit } = this.#search;
    return this.#connections(() => askByTcp(address, port, packet, timing.tcpTimeout, limit));
  }

  /** Takes the reply if somebody waits for it from this address. */
  hear(reply: Reply, address: string): void {
    const waiting = this.#waiting.get(reply.xid);
    if (waiting?.address === address) waiting.answer(reply);
  }

  async #byDatagram({ address, via }: Agent, xid: number, packet: Buffer): Promise<Reply | undefined> {
    const answered = new AbortController();
    let found: Reply | undefined;
    this.#waiting.set(xid, {
      address,
      answer(reply) {
        found = reply;
        answered.abort();
      },
    });
    const ended = { aborted: () => answered.abort() };
    watchAbort(this.#search.limit, ended);
    for (const milliseconds of this.#search.timing.timeouts) {
      if (answered.signal.aborted || this.#search.limit.aborted) break;
      via.send(packet, address, this.#search.port);
      await sleep(milliseconds, answered.signal);
    }
    unwatchAbort(this.#search.limit, ended);
    this.#waiting.delete(xid);
    return found;
  }
}

/** Far more than any agent has to say. */
const mostBytes = 1_048_576;

/** Asks over TCP, where replies of any length fit; undefined if there is no whole reply in time. */
function askByTcp(
  host: string,
  port: number,
  request: Buffer,
  milliseconds: number,
  signal: AbortSignal,
): Promise<Reply | undefined> {
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const chunks: Buffer[] = [];
    let length = 0;
    let wanted: number | undefined;
    const end = (reply: Reply | undefined): void => {
      clearTimeout(timer);
      unwatchAbort(signal, waiting);
      socket.destroy();
      resolve(reply);
    };
    const waiting = { aborted: () => end(undefined) };
    const timer = setTimeout(waiting.aborted, milliseconds);
    watchAbort(signal, waiting);
    socket.on('connect', () => socket.write(request));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length < 5) return;
      wanted ??= statedLength(Buffer.concat(chunks)) ?? Number.POSITIVE_INFINITY;
      if (wanted > mostBytes) end(undefined);
      else if (length >= wanted) end(decodeReply(Buffer.concat(chunks)));
    });
    socket.on('error', () => end(undefined));
    socket.on('close', () => end(undefined));
  });
}
