import type { Socket } from 'node:dgram';
import {
  type Agreement,
  dataHeader,
  errorPacket,
  longestRetryDelay,
  optionAcknowledgement,
  parseReply,
  writeDataHeader,
} from './packets.ts';

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

/**
 * How often something is sent until the client is given up. Who has not answered yet may not have asked at all, since somebody else can
 * have written its address: it gets little, and soon no more, whatever timeout it asks for.
 */
const mostSent = { unheard: 2, heard: 6 };
const unheardDelay = 1_000;
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
  /** When the client answered last; undefined: it has not yet. */
  #heardAt: number | undefined;
  #whenHeard: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #timerDelay = 0;
  /** Blocks that were read, from `#firstRead` on, so many bytes; all but the last block have their full size. */
  #read = Buffer.alloc(0);
  #firstRead = 1;
  #bytesRead = 0;
  /** Packets that are not under way. New ones for each block would make garbage as large as the file, which is costly to collect. */
  readonly #packets: Buffer[] = [];
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

  /** By the clock of `performance`; undefined: never. */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  /** `heard` is called when the client answers for the first time. */
  run(heard: () => void): Promise<End> {
    this.#whenHeard = heard;
    this.#socket.on('message', (packet) => this.#hear(packet));
    this.#socket.on('error', () => this.#end(false));
    this.#sendWindow();
    return this.#ended.promise;
  }

  /** The client has sent its request again: the answer may have been lost. */
  repeatAnswer(): void {
    if (!this.#isOver && this.#heardAt === undefined) this.#sendNext();
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
    if (this.#heardAt === undefined) this.#whenHeard();
    this.#heardAt = performance.now();
    this.#next = acknowledged + 1;
    this.#sent = 0;
    if (acknowledged === this.#blocks) this.#end(true);
    else this.#sendWindow();
  }

  #sendWindow(): void {
    if (this.#isOver) return;
    const isHeard = this.#heardAt !== undefined;
    if (this.#sent === (isHeard ? mostSent.heard : mostSent.unheard)) return this.#end(false);
    const delay = isHeard ? this.#agreement.retryDelay : unheardDelay;
    this.#wakeAfter(Math.min(delay * 2 ** this.#sent, longestRetryDelay));
    this.#sent++;
    this.#sendNext();
  }

  #sendNext(): void {
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
    for (; block <= last && this.#has(block); block++) this.#sendBlock(block);
    if (block <= last) void this.#readAndSend(block, { first, last, attempt });
  }

  async #readAndSend(from: number, { first, last, attempt }: Window): Promise<void> {
    for (let block = from; block <= last; block++) {
      // A reading that was under way may have been for other blocks.
      while (!this.#has(block)) {
        await (this.#reading ??= this.#readFrom(block).finally(() => (this.#reading = undefined)));
        // Meanwhile the client may have gone on.
        if (this.#isOver || this.#next !== first || this.#sent !== attempt) return;
      }
      this.#sendBlock(block);
    }
  }

  #has(block: number): boolean {
    const from = (block - this.#firstRead) * this.#agreement.blockSize;
    return from >= 0 && from + this.#lengthOf(block) <= this.#bytesRead;
  }

  #lengthOf(block: number): number {
    const { blockSize } = this.#agreement;
    return Math.min(blockSize, this.#source.size - (block - 1) * blockSize);
  }

  async #readFrom(block: number): Promise<void> {
    const { blockSize, window } = this.#agreement;
    const position = (block - 1) * blockSize;
    // Thousands of clients that never answer must not take the memory of as many that do.
    const blocks = this.#heardAt === undefined ? 1 : Math.max(blocksPerRead, window);
    const room = Math.min(blocks * blockSize, this.#source.size);
    if (this.#read.length < room) this.#read = Buffer.allocUnsafe(room);
    const wanted = Math.min(this.#read.length, this.#source.size - position);
    // What was there is written over.
    this.#bytesRead = 0;
    this.#firstRead = block;
    try {
      let filled = 0;
      while (filled < wanted) {
        const count = await this.#source.read(this.#read.subarray(filled, wanted), position + filled);
        // A file that became shorter cannot be sent as announced.
        if (count === 0) throw new Error('The file has become shorter.');
        filled += count;
      }
      this.#bytesRead = wanted;
    } catch (error) {
      this.#send(errorPacket('undefined', 'The file cannot be read.'));
      this.#end(false, error);
    }
  }

  #sendBlock(block: number): void {
    const { blockSize } = this.#agreement;
    const from = (block - this.#firstRead) * blockSize;
    const length = this.#lengthOf(block);
    const packet = this.#packets.pop() ?? Buffer.allocUnsafe(dataHeader + blockSize);
    writeDataHeader(packet, block);
    this.#read.copy(packet, dataHeader, from, from + length);
    this.#send(length === blockSize ? packet : packet.subarray(0, dataHeader + length), () =>
      this.#packets.push(packet),
    );
  }

  #send(packet: Buffer, sent: () => void = () => undefined): void {
    if (this.#isOver) return;
    this.#socket.send(packet, (error) => {
      sent();
      // Nobody hears at the client's port any more.
      if (error && 'code' in error && error.code === 'ECONNREFUSED') this.#end(false);
    });
  }

  #end(complete: boolean, failure?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#ended.resolve({ complete, failure });
  }
}
