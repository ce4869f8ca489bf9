import { randomInt } from 'node:crypto';
import { connect } from 'node:net';
import { limiter } from '../../core/limiter.ts';
import { unwatchAbort, watchAbort } from '../../core/waiting.ts';
import type { Port } from '../multicast/outlets.ts';
import { sleep } from '../sleep.ts';
import { decodeReply, type Reply, statedLength } from './message.ts';

type Work = () => Promise<void>;

/** Work in one queue per key: what is slow delays only what waits behind it. Work must not fail. */
export class Queues {
  readonly #queues = new Map<string, Work[]>();
  #whenIdle: (() => void)[] = [];

  add(key: string, work: Work): void {
    const queue = this.#queues.get(key);
    if (queue) queue.push(work);
    else {
      const begun = [work];
      this.#queues.set(key, begun);
      void this.#drain(key, begun);
    }
  }

  idle(): Promise<void> {
    if (this.#queues.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  async #drain(key: string, queue: Work[]): Promise<void> {
    // The queue grows while this loop runs.
    for (const work of queue) await work();
    this.#queues.delete(key);
    if (this.#queues.size > 0) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }
}

/** Milliseconds. */
export interface Timing {
  /** To listen after the first time all were asked, and after each later one. */
  readonly firstGap: number;
  readonly laterGap: number;
  /** To wait for the answer of one agent to the first, second, ... sending. */
  readonly timeouts: readonly number[];
  readonly tcpTimeout: number;
}

export const defaultTiming: Timing = {
  firstGap: 500,
  laterGap: 1_000,
  timeouts: [400, 800, 1_600],
  tcpTimeout: 2_000,
};

const fewestRounds = 3;
const quietRounds = 2;

/** RFC 2608 6.3: asks until nobody new answers, in two rounds, since one may be a lost packet or a slow device. */
export class Rounds {
  readonly #timing: Timing;
  #rounds = 0;
  #quiet = 0;

  constructor(timing: Timing) {
    this.#timing = timing;
  }

  /** Begins a round; `news` says whether anybody new has answered in the last. The milliseconds to listen, or undefined at the end. */
  next(news: boolean): number | undefined {
    this.#quiet = news || this.#rounds === 0 ? 0 : this.#quiet + 1;
    if (this.#rounds >= fewestRounds && this.#quiet >= quietRounds) return undefined;
    return this.#rounds++ === 0 ? this.#timing.firstGap : this.#timing.laterGap;
  }
}

const count = 0x10000;

/** Transaction numbers, none in use twice. They begin at random, so that a stranger cannot answer unseen questions. */
export class Xids {
  readonly #used = new Set<number>([0]);
  #next = randomInt(1, count);

  /** Undefined: all are in use. */
  take(): number | undefined {
    if (this.#used.size >= count) return undefined;
    while (this.#used.has(this.#next)) this.#next = (this.#next + 1) % count;
    this.#used.add(this.#next);
    return this.#next;
  }

  giveBack(xid: number): void {
    this.#used.delete(xid);
    // A late answer must not meet the next question.
    if (this.#next === xid) this.#next = (xid + 1) % count;
  }
}

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
