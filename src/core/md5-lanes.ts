import { groupSize, laneCount, md5LanesProgram } from './md5-lanes-program.ts';

interface Memory {
  readonly buffer: ArrayBuffer;
}
/** What is used of it; the types of Node leave it out. */
declare const WebAssembly: {
  validate(program: Uint8Array): boolean;
  readonly Module: new (program: Uint8Array) => object;
  readonly Memory: new (size: { readonly initial: number }) => Memory;
  readonly Instance: new (
    module: object,
    imports: { readonly env: { readonly memory: Memory } },
  ) => { readonly exports: Readonly<Record<string, unknown>> };
};

type Update = (state: number, blocks: number, ...texts: readonly number[]) => void;

const block = 64;
const page = 65_536;
const first = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
/** Bytes of the sums of all lanes. */
const stateSize = 16 * laneCount;
/** The end of a text takes up to two blocks. */
const endSize = 2 * block;

interface Lane {
  /** Where its bytes begin, and the next that are not hashed yet. */
  readonly begin: number;
  next: number;
  blocks: number;
  length: number;
}

/**
 * MD5 of eight texts at once, which takes 0.4 of the time of one after the other, or less. The bytes of a text are put into the buffer of
 * its lane, piece by piece.
 */
export class Md5Lanes {
  /** Of each lane, for the next piece of its text. */
  readonly buffers: readonly Buffer[];
  readonly #bytes: Buffer;
  readonly #state: Uint32Array;
  readonly #update: Update;
  readonly #lanes: readonly Lane[];

  /** Whether the processor can do it. */
  static readonly isPossible: boolean = WebAssembly.validate(md5LanesProgram);
  static readonly count = laneCount;

  /** `size` is that of a buffer, in whole blocks of 64 bytes. */
  constructor(size: number) {
    const each = size + endSize;
    const memory = new WebAssembly.Memory({ initial: Math.ceil((stateSize + Md5Lanes.count * each) / page) });
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(md5LanesProgram), { env: { memory } });
    this.#update = exports['update'] as Update;
    this.#bytes = Buffer.from(memory.buffer);
    this.#state = new Uint32Array(memory.buffer, 0, stateSize / 4);
    this.#lanes = Array.from({ length: Md5Lanes.count }, (_, lane) => {
      const begin = stateSize + lane * each;
      return { begin, next: begin, blocks: 0, length: 0 };
    });
    this.buffers = this.#lanes.map(({ begin }) => this.#bytes.subarray(begin, begin + size));
  }

  /** A lane begins a new text. */
  begin(lane: number): void {
    this.#lanes[lane]!.length = 0;
    for (const [at, value] of first.entries()) this.#state[numberAt(at, lane)] = value;
  }

  /** So many bytes are in the buffer of a lane, whole blocks unless they are the last of its text. */
  put(lane: number, length: number, isLast: boolean): void {
    const it = this.#lanes[lane]!;
    it.next = it.begin;
    it.length += length;
    it.blocks = (isLast ? this.#end(it, length) : length) / block;
  }

  /** Whether some of what was put is not hashed yet. */
  isBusy(lane: number): boolean {
    return this.#lanes[lane]!.blocks > 0;
  }

  /** Hashes as much as all busy lanes have. */
  hash(): void {
    const blocks = Math.min(...this.#lanes.flatMap((lane) => (lane.blocks > 0 ? lane.blocks : [])));
    if (blocks === Infinity) return;
    // What a lane without a text has in its buffer is hashed too, and counts for nothing.
    for (const lane of this.#lanes) if (lane.blocks === 0) lane.next = lane.begin;
    this.#update(0, blocks, ...this.#lanes.map(({ next }) => next));
    for (const lane of this.#lanes) {
      if (lane.blocks === 0) continue;
      lane.blocks -= blocks;
      lane.next += blocks * block;
    }
  }

  /** The sum of a text that was put and hashed to its end. */
  digest(lane: number): string {
    const sum = Buffer.alloc(16);
    for (const at of first.keys()) sum.writeUInt32LE(this.#state[numberAt(at, lane)]!, 4 * at);
    return sum.toString('hex');
  }

  /** Puts behind the bytes what ends a text; the length with it. */
  #end({ begin, length: all }: Lane, length: number): number {
    const end = Math.ceil((length + 9) / block) * block;
    this.#bytes.fill(0, begin + length, begin + end);
    this.#bytes[begin + length] = 0x80;
    this.#bytes.writeBigUInt64LE(BigInt(all) * 8n, begin + end - 8);
    return end;
  }
}

/** Where a number of a lane's sum is in the state. */
const numberAt = (number: number, lane: number): number =>
  groupSize * (first.length * Math.floor(lane / groupSize) + number) + (lane % groupSize);
