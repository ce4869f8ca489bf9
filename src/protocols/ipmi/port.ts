import { fillRandom, type Talker, type Wire } from './wire.ts';
import { type Listener, type Transport, withoutZone } from './transport.ts';
import type { Sleeper, TimerWheel } from './timer-wheel.ts';

/** The real world of one talk with a BMC: its part of the shared socket and the shared timer. */
export class Port implements Wire, Listener, Sleeper {
  readonly address: string;
  readonly port: number;
  due = Number.POSITIVE_INFINITY;
  turn = Number.POSITIVE_INFINITY;
  readonly now: () => number;
  readonly lag: () => number;
  readonly chance = Math.random;
  readonly fill = fillRandom;
  readonly #shared: Transport;
  readonly #openOwn: () => Promise<Transport | undefined>;
  readonly #wheel: TimerWheel;
  readonly #destination: string;
  #talker: Talker | undefined;
  #claims = 0;
  #own: Transport | undefined;
  #ended = false;

  /** `openOwn` gives a socket for this talk alone; undefined if there are too many. */
  constructor(
    shared: Transport,
    openOwn: () => Promise<Transport | undefined>,
    wheel: TimerWheel,
    address: string,
    port: number,
  ) {
    this.#shared = shared;
    this.#openOwn = openOwn;
    this.#wheel = wheel;
    this.now = wheel.now;
    this.lag = wheel.lag;
    this.#destination = address;
    this.address = withoutZone(address);
    this.port = port;
  }

  attach(talker: Talker): void {
    this.#talker = talker;
  }

  async takeOwnSource(): Promise<void> {
    const fresh = await this.#openOwn();
    if (fresh === undefined) return;
    const old = this.#ended ? fresh : this.#own;
    if (!this.#ended) this.#own = fresh;
    await old?.close();
  }

  /** Nothing is sent any more. */
  async end(): Promise<void> {
    this.#ended = true;
    await this.#own?.close();
    this.#own = undefined;
  }

  get #transport(): Transport {
    return this.#own ?? this.#shared;
  }

  packet(): Buffer {
    return this.#transport.packet();
  }

  send(packet: Buffer, length: number): void {
    this.#transport.send(packet, length, this.#destination, this.port, this.#sent);
  }

  claim(): number {
    if (this.#claims++ === 0) this.#transport.join(this);
    return this.#transport.claim(this);
  }

  release(id: number): void {
    this.#transport.release(id);
    if (--this.#claims === 0) this.#transport.leave(this);
  }

  wake(at: number): void {
    this.#wheel.set(this, at);
  }

  heardNoise(since: number): boolean {
    return this.#transport.heardNoise(this.address, since);
  }

  receive(packet: Buffer): void {
    this.#talker?.receive(packet);
  }

  awake(now: number): void {
    this.#talker?.tick(now);
  }

  readonly #sent = (error: NodeJS.ErrnoException | null): void => {
    if (error && !momentary.has(error.code ?? '')) this.#talker?.unreachable(error);
  };
}

/** Errors that pass: the packet counts as lost and is sent again. */
const momentary: ReadonlySet<string> = new Set(['EAGAIN', 'ENOBUFS', 'ENOMEM', 'EINTR']);
