import type { HubEvent } from './view.ts';
import type { EventData, EventFilter, Shown, View } from './view.ts';

/** Milliseconds that power states and progress are gathered for. */
const delay = 200;

/** Gathers what comes often: of a while the latest is sent. */
export class Gathering {
  readonly #send: (event: HubEvent) => void;
  /** Nodes by what their power is. */
  #power = new Map<string, Set<string>>();
  /** By run. */
  #progress = new Map<string, () => HubEvent>();
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (event: HubEvent) => void) {
    this.#send = send;
  }

  power(node: string, power: string): void {
    for (const nodes of this.#power.values()) nodes.delete(node);
    let nodes = this.#power.get(power);
    if (!nodes) this.#power.set(power, (nodes = new Set()));
    nodes.add(node);
    this.#start();
  }

  progress(run: string, now: () => HubEvent): void {
    if (!this.#progress.has(run)) this.#progress.set(run, now);
    this.#start();
  }

  /** Its progress is sent otherwise. */
  forgetRun(run: string): void {
    this.#progress.delete(run);
  }

  flush(): void {
    const [power, progress] = [this.#power, this.#progress];
    this.clear();
    for (const [state, nodes] of power)
      if (nodes.size > 0) this.#send({ what: 'power', time: Date.now(), nodes: [...nodes], power: state });
    for (const now of progress.values()) this.#send(now());
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#power = new Map();
    this.#progress = new Map();
  }

  #start(): void {
    this.#timer ??= setTimeout(() => this.flush(), delay).unref();
  }
}

/** The connection of a listener. */
export interface Sink {
  /** False: it takes no more for now, and calls back when it does again. */
  write(bytes: Buffer): boolean;
  onDrain(callback: () => void): void;
  onClose(callback: () => void): void;
  end(bytes: Buffer): void;
}

/** Bytes for all listeners that get the same; those that are slow hold it. */
interface Chunk {
  readonly bytes: Buffer;
  holders: number;
}

/** Bytes that one listener may be behind. */
const mostBehind = 4 << 20;

/** Counts what slow listeners hold: bytes that many of them hold count once. */
export class Held {
  bytes = 0;

  add(chunk: Chunk): void {
    if (chunk.holders++ === 0) this.bytes += chunk.bytes.length;
  }

  remove(chunk: Chunk): void {
    if (--chunk.holders === 0) this.bytes -= chunk.bytes.length;
  }
}

/** Writes to one connection as fast as it takes it. What it has not taken waits here, shared with others, up to a bound. */
export class Listener {
  readonly #sink: Sink;
  readonly #held: Held;
  #queue: Chunk[] = [];
  #behind = 0;
  #isFull = false;
  #isOver = false;

  constructor(sink: Sink, held: Held) {
    this.#sink = sink;
    this.#held = held;
    sink.onDrain(() => {
      this.#isFull = false;
      this.#pump();
    });
  }

  /** Bytes that wait. */
  get behind(): number {
    return this.#behind;
  }

  get isTooSlow(): boolean {
    return this.#behind > mostBehind;
  }

  /** It has left, or has got the last. */
  get isOver(): boolean {
    return this.#isOver;
  }

  push(chunk: Chunk): void {
    if (this.#isOver) return;
    if (!this.#isFull && this.#queue.length === 0) {
      this.#isFull = !this.#sink.write(chunk.bytes);
      return;
    }
    this.#queue.push(chunk);
    this.#behind += chunk.bytes.length;
    this.#held.add(chunk);
  }

  /** Resolves when all was taken. */
  get isIdle(): boolean {
    return !this.#isFull && this.#queue.length === 0;
  }

  /** Forgets what waits; the last it gets is this. */
  end(last: Buffer): void {
    if (this.#isOver) return;
    this.forget();
    this.#sink.end(last);
  }

  forget(): void {
    this.#isOver = true;
    for (const chunk of this.#queue) this.#held.remove(chunk);
    this.#queue = [];
    this.#behind = 0;
  }

  #pump(): void {
    let taken = 0;
    while (!this.#isFull && taken < this.#queue.length) {
      const chunk = this.#queue[taken++]!;
      this.#behind -= chunk.bytes.length;
      this.#held.remove(chunk);
      this.#isFull = !this.#sink.write(chunk.bytes);
    }
    if (taken > 0) this.#queue = this.#queue.slice(taken);
  }
}

/** Who listens: its credentials, and where to. */
export interface Audience extends Shown {
  readonly filter: EventFilter;
  /** The id of the last event that it has. */
  readonly after: string | undefined;
  /** Seconds after which it has enough. */
  readonly seconds: number | undefined;
}

export interface Open {
  readonly audience: Audience;
  readonly listener: Listener;
  readonly shared: SharedView;
  /** The number of the last entry that it got before it listened with the others. */
  from: number;
}

/** Somebody in this process who listens. */
export interface Attached {
  readonly view: View;
  at: number;
  take(events: readonly EventData[]): void;
}

export interface SharedView {
  readonly key: string;
  readonly view: View;
  readonly open: Set<Open>;
  /** Also those that still catch up with what has happened before. */
  readonly all: Set<Open>;
  /** The number of the last entry that it has got. */
  at: number;
}
