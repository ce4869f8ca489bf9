import { StringDecoder } from 'node:string_decoder';
import type { CollectedOutput } from './collected.ts';
import type { Output } from './target.ts';

type Stream = keyof Output;
const streams: readonly Stream[] = ['stdout', 'stderr'];

/** Collects output and, once that is more than can be kept, passes all of it on from its beginning, as fast as it is taken. */
export class PassedOutput implements Output {
  readonly #collected: CollectedOutput;
  readonly #taker: (stream: Stream, piece: string) => Promise<void>;
  /** No character is cut in two. */
  readonly #decoders = { stdout: new StringDecoder(), stderr: new StringDecoder() };
  /** One piece after another. */
  #passed: Promise<void> = Promise.resolve();

  constructor(collected: CollectedOutput, taker: (stream: Stream, piece: string) => Promise<void>) {
    this.#collected = collected;
    this.#taker = taker;
  }

  readonly stdout = (chunk: Buffer): void | Promise<void> => this.#take('stdout', chunk);
  readonly stderr = (chunk: Buffer): void | Promise<void> => this.#take('stderr', chunk);

  /** There comes no more; settled when all is taken. */
  end(): Promise<void> {
    for (const stream of streams) this.#pass(stream, this.#decoders[stream].end());
    return this.#passed;
  }

  #take(stream: Stream, chunk: Buffer): void | Promise<void> {
    const collected = this.#collected;
    const before = collected.lost;
    collected[stream](chunk);
    const lost = collected.lost - before;
    if (lost === 0) return undefined;
    if (before === 0) for (const each of streams) this.#decode(each, collected.bytes(each));
    this.#decode(stream, chunk.subarray(chunk.length - lost));
    return this.#passed;
  }

  #decode(stream: Stream, bytes: Buffer): void {
    this.#pass(stream, this.#decoders[stream].write(bytes));
  }

  #pass(stream: Stream, piece: string): void {
    if (piece !== '') this.#passed = this.#passed.then(() => this.#taker(stream, piece));
  }
}
