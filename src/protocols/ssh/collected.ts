import { GatheredBytes } from './gathered-bytes.ts';
import type { Output } from './transport.ts';

/** What a command printed, kept up to a limit; the rest is counted and thrown away. */
export class CollectedOutput implements Output {
  readonly #limit: number;
  readonly #streams = { stdout: new GatheredBytes(), stderr: new GatheredBytes() };
  #lost = 0;

  /** `limit` is in bytes, for both streams together. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  stdout(chunk: Buffer): void {
    this.#take(this.#streams.stdout, chunk);
  }

  stderr(chunk: Buffer): void {
    this.#take(this.#streams.stderr, chunk);
  }

  /** The text of a stream. Bytes that are no UTF-8 are shown as replacement characters. */
  text(stream: 'stdout' | 'stderr'): string {
    const { bytes } = this.#streams[stream];
    return bytes.toString('utf8', 0, this.#lost > 0 ? wholeCharacters(bytes) : bytes.length);
  }

  /** Bytes that were thrown away. */
  get lost(): number {
    return this.#lost;
  }

  /** What to tell of what was thrown away, if anything was. */
  get note(): string | undefined {
    if (this.#lost === 0) return undefined;
    return `The output was cut after ${this.#limit} bytes; ${this.#lost} more are not shown.`;
  }

  #take(stream: GatheredBytes, chunk: Buffer): void {
    const { stdout, stderr } = this.#streams;
    const room = this.#limit - stdout.length - stderr.length;
    stream.append(chunk.length <= room ? chunk : chunk.subarray(0, room));
    this.#lost += Math.max(0, chunk.length - room);
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
