/** The connection of a listener. */
export interface Sink {
  /** False: it takes no more for now, and calls back when it does again. */
  write(bytes: Buffer): boolean;
  onDrain(callback: () => void): void;
  onClose(callback: () => void): void;
  end(bytes: Buffer): void;
}

/** Bytes for all listeners that get the same; those that are slow hold it. */
export interface Chunk {
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

  /** It has left, or was told the last. */
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
