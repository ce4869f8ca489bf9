import type { Output } from './target.ts';

/** Room that many share. */
export interface Room {
  /** Takes so many bytes of it, or what is left: the answer is how many. */
  take(bytes: number): number;
}

const endless: Room = { take: (bytes) => bytes };

/** What a command printed, kept up to a limit; the rest is counted and thrown away. */
export class CollectedOutput implements Output {
  readonly #limit: number;
  readonly #room: Room;
  readonly #streams = { stdout: new GatheredBytes(), stderr: new GatheredBytes() };
  readonly #lost = { stdout: 0, stderr: 0 };

  /** `limit` is in bytes, for both streams together; `room` may hold less. */
  constructor(limit: number, room: Room = endless) {
    this.#limit = limit;
    this.#room = room;
  }

  readonly stdout = (chunk: Buffer): void => this.#take('stdout', chunk);
  readonly stderr = (chunk: Buffer): void => this.#take('stderr', chunk);

  /** The text of a stream. Bytes that are no UTF-8 are shown as replacement characters. */
  text(stream: 'stdout' | 'stderr'): string {
    const { bytes } = this.#streams[stream];
    return bytes.toString('utf8', 0, this.lost > 0 ? wholeCharacters(bytes) : bytes.length);
  }

  /** What is kept of a stream; it may end within a character. */
  bytes(stream: 'stdout' | 'stderr'): Buffer {
    return this.#streams[stream].bytes;
  }

  get lost(): number {
    return this.#lost.stdout + this.#lost.stderr;
  }

  /** Whether a stream had more than blanks; what was thrown away counts as that. */
  hasText(stream: 'stdout' | 'stderr'): boolean {
    return this.#lost[stream] > 0 || this.text(stream).trim() !== '';
  }

  /** What to say of what was thrown away, if anything was. */
  get note(): string | undefined {
    if (this.lost === 0) return undefined;
    const { stdout, stderr } = this.#streams;
    return `The output was cut after ${stdout.length + stderr.length} bytes; ${this.lost} more are not shown.`;
  }

  #take(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    const { stdout, stderr } = this.#streams;
    // Once something is missing, what comes later would stand in its place.
    const wanted = this.lost > 0 ? 0 : Math.min(chunk.length, this.#limit - stdout.length - stderr.length);
    const kept = this.#room.take(wanted);
    this.#streams[stream].append(kept === chunk.length ? chunk : chunk.subarray(0, kept));
    this.#lost[stream] += chunk.length - kept;
  }
}

/** The length without a character that was cut in two. */
function wholeCharacters(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start > bytes.length - 4 && start > 0 && (bytes[start]! & 0xc0) === 0x80) start--;
  const lead = bytes[start] ?? 0;
  const needed = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  return start + needed > bytes.length ? start : bytes.length;
}

/** Bytes put together in one buffer, however small the pieces they come in. */
class GatheredBytes {
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  append(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(this.#length === 0 ? length : Math.max(length, 2 * this.#buffer.length));
      this.#buffer.copy(larger, 0, 0, this.#length);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#length);
    this.#length = length;
  }
}
