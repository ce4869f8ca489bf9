import type { Socket } from 'node:dgram';
import type { Agreement } from './options.ts';
import { dataHeader, errorPacket, optionAcknowledgement, parseReply, writeDataHeader } from './packets.ts';

/** Something to send. Reads are made one after another, from the beginning to the end. */
export interface Source {
  readonly size: number;
  /** Fills the buffer from a position of the file on, as far as there is something. */
  read(buffer: Buffer, position: number): Promise<number>;
  /** Called once, with whether the client has all of it. */
  close(complete: boolean): Promise<void>;
}

/** How it ended: whether the client has all of it, and why the file could not be read if that was it. */
export interface End {
  readonly complete: boolean;
  readonly failure: unknown;
}

/** How often something is sent until the client is given up: rarely to one that never answered, which may not have asked at all. */
const mostSent = { unheard: 3, heard: 6 };
const longestDelay = 8_000;
const blocksPerRead = 64;
const lowest16 = 0x1_0000;

/** Blocks that are sent before the client must say that it has them, and how often they were. */
interface Window {
  readonly first: number;
  readonly last: number;
  readonly attempt: number;
}

/** Sends one file to one client, over a socket that is connected to it. */
export class Transfer {
  readonly #socket: Socket;
  readonly #source: Source;
  readonly #agreement: Agreement;
  readonly #ended = Promise.withResolvers<End>();
  readonly #blocks: number;
  /** Of the blocks before it the client has all. Block 0 is the acknowledgement of options. */
  #next: number;
  #sent = 0;
  #heard = false;
  #timer: NodeJS.Timeout | undefined;
  #timerDelay = 0;
  /** Blocks that were read, from `#firstRead` on; all but the last have their full size. */
  #read = Buffer.alloc(0);
  #firstRead = 1;
  #reading: Promise<void> | undefined;
  #isOver = false;

  constructor(socket: Socket, source: Source, agreement: Agreement) {
    this.#socket = socket;
    this.#source = source;
    this.#agreement = agreement;
    // The last block is shorter than the others, if need be empty.
    this.#blocks = Math.floor(source.size / agreement.blockSize) + 1;
    this.#next = agreement.accepted.size > 0 ? 0 : 1;
  }

  run(): Promise<End> {
    this.#socket.on('message', (packet) => this.#hear(packet));
    this.#socket.on('error', () => this.#end(false));
    this.#sendWindow();
    return this.#ended.promise;
  }

  stop(): void {
    this.#end(false);
  }

  #hear(packet: Buffer): void {
    const reply = parseReply(packet);
    if (reply === 'error') return this.#end(false);
    if (!reply || this.#isOver) return;
    // Which of all blocks with this number it is: one of the window that was sent.
    const behind = (reply.block - this.#next + lowest16) % lowest16;
    const acknowledged = this.#next + behind;
    // An acknowledgement that comes twice is passed over: to answer it would send everything twice from then on.
    if (behind >= this.#agreement.window || acknowledged > this.#blocks || (this.#next === 0 && behind > 0)) return;
    this.#heard = true;
    this.#next = acknowledged + 1;
    this.#sent = 0;
    if (acknowledged === this.#blocks) this.#end(true);
    else this.#sendWindow();
  }

  #sendWindow(): void {
    if (this.#isOver) return;
    if (this.#sent === (this.#heard ? mostSent.heard : mostSent.unheard)) return this.#end(false);
    const delay = Math.min(
      this.#agreement.retryDelay * 2 ** this.#sent,
      Math.max(longestDelay, this.#agreement.retryDelay),
    );
    this.#sent++;
    this.#wakeAfter(delay);
    if (this.#next === 0) this.#send(optionAcknowledgement(this.#agreement.accepted));
    else this.#sendBlocks(this.#next, this.#sent);
  }

  /** With every block that arrives; to put a timer back costs far less than to make one. */
  #wakeAfter(delay: number): void {
    if (this.#timer && this.#timerDelay === delay) {
      this.#timer.refresh();
      return;
    }
    clearTimeout(this.#timer);
    this.#timerDelay = delay;
    this.#timer = setTimeout(() => this.#sendWindow(), delay);
  }

  #sendBlocks(first: number, attempt: number): void {
    const last = Math.min(first + this.#agreement.window - 1, this.#blocks);
    let block = first;
    for (; block <= last && this.#has(block); block++) this.#send(this.#packet(block));
    if (block <= last) void this.#readAndSend(block, { first, last, attempt });
  }

  async #readAndSend(from: number, { first, last, attempt }: Window): Promise<void> {
    for (let block = from; block <= last; block++) {
      if (!this.#has(block)) {
        await (this.#reading ??= this.#readFrom(block).finally(() => (this.#reading = undefined)));
        // Somebody else's reading may have been for other blocks.
        if (!this.#isOver && !this.#has(block)) await this.#readFrom(block);
      }
      // Meanwhile the client may have gone on.
      if (this.#isOver || this.#next !== first || this.#sent !== attempt) return;
      this.#send(this.#packet(block));
    }
  }

  #has(block: number): boolean {
    const from = (block - this.#firstRead) * this.#agreement.blockSize;
    return from >= 0 && from + this.#lengthOf(block) <= this.#read.length;
  }

  #lengthOf(block: number): number {
    const { blockSize } = this.#agreement;
    return Math.min(blockSize, this.#source.size - (block - 1) * blockSize);
  }

  async #readFrom(block: number): Promise<void> {
    const { blockSize } = this.#agreement;
    const position = (block - 1) * blockSize;
    const wanted = Math.min(Math.max(blocksPerRead, this.#agreement.window) * blockSize, this.#source.size - position);
    const buffer = Buffer.allocUnsafe(wanted);
    try {
      let filled = 0;
      while (filled < wanted) {
        const count = await this.#source.read(buffer.subarray(filled), position + filled);
        // A file that became shorter cannot be sent as announced.
        if (count === 0) throw new Error('The file has become shorter.');
        filled += count;
      }
      this.#read = buffer;
      this.#firstRead = block;
    } catch (error) {
      this.#send(errorPacket('undefined', 'The file cannot be read.'));
      this.#end(false, error);
    }
  }

  #packet(block: number): Buffer {
    const from = (block - this.#firstRead) * this.#agreement.blockSize;
    const length = this.#lengthOf(block);
    const packet = Buffer.allocUnsafe(dataHeader + length);
    writeDataHeader(packet, block);
    this.#read.copy(packet, dataHeader, from, from + length);
    return packet;
  }

  #send(packet: Buffer): void {
    if (!this.#isOver) this.#socket.send(packet, () => undefined);
  }

  #end(complete: boolean, failure?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#ended.resolve({ complete, failure });
  }
}
