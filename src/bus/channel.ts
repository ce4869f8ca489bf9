import { Fault } from '../core/errors.ts';

/** Bytes of a message that travel in one frame. NATS takes frames of a megabyte unless it is configured otherwise. */
export const pieceSize = 192 * 1024;
/** Frames that may be on the way or wait to be read. */
const windowSize = 16;
/** Milliseconds after which what nobody has confirmed is sent again, and after which an idle channel asks whether the other end is there. */
const repeatAfter = 1_000;
const probeAfter = 3_000;
/** Ticks of a second without a frame, or without a confirmation of what was sent, after which the other end is given up. A process that was paused itself has not ticked. */
const silentTicks = 20;

const headSize = 16;
const frameVersion = 1;
/** A probe asks for a confirmation; whoever does not have the channel answers it with a reset. */
const kinds = { data: 0, confirmation: 1, reset: 2, probe: 3 } as const;

export interface Frame {
  readonly kind: number;
  /** The last piece of a message. */
  readonly isLast: boolean;
  readonly sequence: number;
  /** All before it have arrived at the sender of this frame. */
  readonly confirmed: number;
  /** The sender of this frame takes those before it. */
  readonly allowed: number;
  readonly piece: Uint8Array;
}

/** Undefined: it is none. */
export function readFrame(bytes: Uint8Array): Frame | undefined {
  if (bytes.length < headSize || bytes.length > headSize + pieceSize || bytes[0] !== frameVersion) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, headSize);
  return {
    kind: bytes[1]!,
    isLast: bytes[2] === 1,
    sequence: view.getUint32(4),
    confirmed: view.getUint32(8),
    allowed: view.getUint32(12),
    piece: bytes.subarray(headSize),
  };
}

function writeFrame({ kind, isLast, sequence, confirmed, allowed, piece }: Frame): Uint8Array {
  const bytes = new Uint8Array(headSize + piece.length);
  bytes.set([frameVersion, kind, isLast ? 1 : 0, 0]);
  const view = new DataView(bytes.buffer);
  view.setUint32(4, sequence);
  view.setUint32(8, confirmed);
  view.setUint32(12, allowed);
  bytes.set(piece, headSize);
  return bytes;
}

const nothing = new Uint8Array();

/** Tells the other end of a channel that there is no such channel here. */
export const resetFrame = (): Uint8Array =>
  writeFrame({ kind: kinds.reset, isLast: true, sequence: 0, confirmed: 0, allowed: 0, piece: nothing });

/** Whether a channel can begin with the frame. */
export const isFirst = ({ kind, sequence }: Frame): boolean => kind === kinds.data && sequence === 0;

export const isReset = ({ kind }: Frame): boolean => kind === kinds.reset;

/** Memory for messages that arrive piece by piece. */
export interface Memory {
  take(bytes: number): boolean;
  give(bytes: number): void;
}

interface ChannelOptions {
  transmit(frame: Uint8Array): void;
  /** Bytes of the largest message that the other end may send. */
  readonly largest: number;
  readonly memory?: Memory | undefined;
  /** Called when it is closed, by whichever end. */
  ended?(): void;
}

interface Waiting {
  readonly piece: Uint8Array;
  readonly isLast: boolean;
  sent(): void;
  failed(error: unknown): void;
}

/**
 * Messages between two processes over NATS, which may lose some when a connection breaks: in order, each once, no more than the reader
 * keeps up with. It ends when either end closes it; whoever knows that the other end is gone closes it too.
 */
export class Channel implements AsyncIterable<Uint8Array> {
  readonly #options: ChannelOptions;
  readonly #outbox: Waiting[] = [];
  /** Those that the other end has not confirmed, by their numbers. */
  readonly #unconfirmed = new Map<number, { readonly piece: Uint8Array; readonly isLast: boolean }>();
  #next = 0;
  #allowed = windowSize;
  /** When something was confirmed last, or the oldest that is not was sent. */
  #progress = performance.now();
  #heard = performance.now();
  #silent = 0;
  #stuck = 0;
  readonly #timer: NodeJS.Timeout;

  readonly #inbox: Frame[] = [];
  #expected = 0;
  #read = 0;
  #held = 0;
  #confirming = false;

  #wake: (() => void) | undefined;
  #settled: (() => void) | undefined;
  #closed: Fault | undefined;

  constructor(options: ChannelOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), repeatAfter).unref();
  }

  /** Why it was closed, if it was. */
  get closed(): Fault | undefined {
    return this.#closed;
  }

  /** Resolves when the message is on its way, which is when the other end has room for it. */
  send(message: Uint8Array): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    return new Promise((resolve, reject) => {
      const pieces = Math.max(1, Math.ceil(message.length / pieceSize));
      for (let index = 0; index < pieces; index++) {
        const isLast = index === pieces - 1;
        this.#outbox.push({
          piece: message.subarray(index * pieceSize, (index + 1) * pieceSize),
          isLast,
          sent: isLast ? resolve : () => undefined,
          failed: reject,
        });
      }
      this.#transmit();
    });
  }

  /** Resolves when the other end has everything that was sent, or the channel is closed. */
  async settled(): Promise<void> {
    while (!this.#closed && (this.#unconfirmed.size > 0 || this.#outbox.length > 0))
      await new Promise<void>((resolve) => (this.#settled = resolve));
  }

  /** A frame from the other end. */
  receive(frame: Frame): void {
    if (this.#closed) return;
    if (isReset(frame)) {
      this.close(new Fault('unavailable', 'The other end of the channel has closed it.'));
      return;
    }
    this.#heard = performance.now();
    this.#silent = 0;
    this.#confirm(frame);
    if (frame.kind === kinds.confirmation) return;
    // A gap is filled when it is sent again; what came already is confirmed once more.
    if (frame.kind === kinds.data && frame.sequence === this.#expected && this.#expected < this.#read + windowSize) {
      this.#expected++;
      this.#inbox.push(frame);
      this.#wake?.();
    }
    this.#confirmSoon();
  }

  close(reason: Fault): void {
    if (this.#closed) return;
    this.#closed = reason;
    clearInterval(this.#timer);
    for (const { failed } of this.#outbox.splice(0)) failed(reason);
    this.#unconfirmed.clear();
    this.#wake?.();
    this.#settled?.();
    this.#options.ended?.();
  }

  /** Closes both ends. */
  end(reason: Fault): void {
    if (this.#closed) return;
    this.close(reason);
    this.#options.transmit(resetFrame());
  }

  /** The messages of the other end, until the channel is closed and all that had arrived is read. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    let pieces: Uint8Array[] = [];
    let size = 0;
    for (;;) {
      const frame = this.#inbox.shift();
      if (!frame) {
        if (this.#closed) break;
        await new Promise<void>((resolve) => (this.#wake = resolve));
        this.#wake = undefined;
        continue;
      }
      this.#read++;
      this.#confirmSoon();
      // Each takes memory, however short it is.
      if (!frame.isLast && frame.piece.length !== pieceSize) {
        this.end(new Fault('unavailable', 'A piece of a message on the channel is too short.'));
        return;
      }
      size += frame.piece.length;
      if (!this.#hold(frame.piece.length, size)) return;
      pieces.push(frame.piece);
      if (!frame.isLast) continue;
      const message = pieces.length === 1 ? pieces[0]! : new Uint8Array(Buffer.concat(pieces));
      pieces = [];
      size = 0;
      this.#release();
      yield message;
    }
    this.#release();
  }

  #release(): void {
    this.#options.memory?.give(this.#held);
    this.#held = 0;
  }

  #hold(bytes: number, size: number): boolean {
    const { largest, memory } = this.#options;
    if (size <= largest && (memory?.take(bytes) ?? true)) {
      this.#held += bytes;
      return true;
    }
    this.end(
      new Fault('unavailable', `A message on the channel is larger than the ${largest} bytes that it may have.`),
    );
    return false;
  }

  #confirm({ confirmed, allowed }: Frame): void {
    // What was never sent cannot have arrived.
    if (confirmed > this.#next) return;
    const before = this.#unconfirmed.size;
    for (const sequence of this.#unconfirmed.keys()) {
      if (sequence >= confirmed) break;
      this.#unconfirmed.delete(sequence);
    }
    this.#allowed = Math.max(this.#allowed, Math.min(allowed, confirmed + windowSize));
    if (this.#unconfirmed.size < before) {
      this.#progress = performance.now();
      this.#stuck = 0;
    }
    this.#transmit();
    if (this.#unconfirmed.size === 0) this.#settled?.();
  }

  #transmit(): void {
    while (this.#outbox.length > 0 && this.#next < this.#allowed) {
      const { piece, isLast, sent } = this.#outbox.shift()!;
      const sequence = this.#next++;
      if (this.#unconfirmed.size === 0) this.#progress = performance.now();
      this.#unconfirmed.set(sequence, { piece, isLast });
      this.#transmitPiece(sequence, piece, isLast);
      sent();
    }
  }

  #transmitPiece(sequence: number, piece: Uint8Array, isLast: boolean): void {
    const [confirmed, allowed] = [this.#expected, this.#read + windowSize];
    this.#options.transmit(writeFrame({ kind: kinds.data, isLast, sequence, confirmed, allowed, piece }));
  }

  #tick(): void {
    const now = performance.now();
    this.#stuck = this.#unconfirmed.size > 0 ? this.#stuck + 1 : 0;
    if (++this.#silent > silentTicks || this.#stuck > silentTicks) {
      this.end(new Fault('unavailable', `The other end of the channel has not answered for ${silentTicks} s.`));
      return;
    }
    if (this.#unconfirmed.size > 0 && now - this.#progress >= repeatAfter) {
      this.#progress = now;
      for (const [sequence, { piece, isLast }] of this.#unconfirmed) this.#transmitPiece(sequence, piece, isLast);
    } else if (this.#outbox.length > 0 || now - this.#heard >= probeAfter) this.#transmitState(kinds.probe);
  }

  /** Once for all that comes in one turn of the event loop. */
  #confirmSoon(): void {
    if (this.#confirming) return;
    this.#confirming = true;
    setImmediate(() => {
      this.#confirming = false;
      if (!this.#closed) this.#transmitState(kinds.confirmation);
    });
  }

  #transmitState(kind: number): void {
    const [confirmed, allowed] = [this.#expected, this.#read + windowSize];
    this.#options.transmit(writeFrame({ kind, isLast: false, sequence: 0, confirmed, allowed, piece: nothing }));
  }
}
