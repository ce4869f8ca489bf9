/** What a transfer is agreed to be like. */
export interface Agreement {
  /** Bytes of a block. */
  readonly blockSize: number;
  /** Blocks that are sent before the client must say that it has them (RFC 7440). */
  readonly window: number;
  /** Milliseconds until what was not acknowledged is sent again. */
  readonly retryDelay: number;
  /** What the client hears of its options; empty: it asked for none that is known. */
  readonly accepted: ReadonlyMap<string, string>;
}

const usual = { blockSize: 512, window: 1, retryDelay: 1_000 };
/** RFC 2348: at least 8. More than fits a frame would be sent in fragments, which firmware often cannot put together. */
const smallestBlock = 8;
const framePayload = 1_500;
const headers = { 4: 20 + 8 + 4, 6: 40 + 8 + 4 };
/** Enough to fill a fast link; more is lost by slow cards. */
const largestWindow = 64;
const longestDelay = 255;
/** Milliseconds. A longer one is agreed to, and something is sent again earlier: who says nothing more must not be waited for long. */
export const longestRetryDelay = 8_000;

/** RFC 2347 to 2349 and 7440: unknown options and values that make no sense are passed over, as if they had not been sent. */
export function agree(options: ReadonlyMap<string, string>, size: number, family: 4 | 6): Agreement {
  const accepted = new Map<string, string>();
  let { blockSize, window, retryDelay } = usual;
  const wanted = (name: string, least: number, most: number): number | undefined => {
    const text = options.get(name);
    const value = text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
    return value !== undefined && value >= least && value <= most ? value : undefined;
  };
  const block = wanted('blksize', smallestBlock, 65_464);
  if (block !== undefined) {
    blockSize = Math.min(block, framePayload - headers[family]);
    accepted.set('blksize', String(blockSize));
  }
  const delay = wanted('timeout', 1, longestDelay);
  if (delay !== undefined) {
    retryDelay = Math.min(delay * 1_000, longestRetryDelay);
    accepted.set('timeout', String(delay));
  }
  if (options.has('tsize')) accepted.set('tsize', String(size));
  const blocks = wanted('windowsize', 1, 65_535);
  if (blocks !== undefined) {
    window = Math.min(blocks, largestWindow);
    accepted.set('windowsize', String(window));
  }
  return { blockSize, window, retryDelay, accepted };
}

/** TFTP (RFC 1350) with options (RFC 2347). Numbers are big-endian. */
const operations = { read: 1, write: 2, data: 3, acknowledgement: 4, error: 5, optionAcknowledgement: 6 } as const;

/** RFC 1350 section 5, RFC 2347 section 4. */
const errorCodes = {
  undefined: 0,
  notFound: 1,
  accessViolation: 2,
  diskFull: 3,
  illegalOperation: 4,
  unknownTransfer: 5,
  options: 8,
} as const;

export type ErrorCode = keyof typeof errorCodes;

export interface ReadRequest {
  readonly name: string;
  /** In lower case. */
  readonly mode: string;
  /** By names in lower case; of one that comes twice the first counts. */
  readonly options: ReadonlyMap<string, string>;
}

/** What a client sends to begin: a request for a file, a request to write one, or nothing that makes sense. */
export function parseRequest(packet: Buffer): ReadRequest | 'write' | undefined {
  if (packet.length < 4) return undefined;
  const operation = packet.readUInt16BE(0);
  if (operation === operations.write) return 'write';
  if (operation !== operations.read) return undefined;
  const [name, mode, ...rest] = texts(packet);
  if (!name || !mode) return undefined;
  const options = new Map<string, string>();
  for (let i = 0; i + 1 < rest.length; i += 2) {
    const option = rest[i]!.toLowerCase();
    if (!options.has(option)) options.set(option, rest[i + 1]!);
  }
  return { name, mode: mode.toLowerCase(), options };
}

/** The texts of a request, each of which ends with a zero byte. Some firmware leaves the last one out, or sends padding behind. */
function texts(packet: Buffer): string[] {
  const found: string[] = [];
  for (let from = 2; from < packet.length; ) {
    const zero = packet.indexOf(0, from);
    const to = zero < 0 ? packet.length : zero;
    found.push(packet.toString('utf8', from, to));
    from = to + 1;
  }
  return found;
}

/** The number of the block a client has, or that it gave up; undefined: neither. */
export function parseReply(packet: Buffer): { readonly block: number } | 'error' | undefined {
  if (packet.length < 4) return undefined;
  const operation = packet.readUInt16BE(0);
  if (operation === operations.error) return 'error';
  return operation === operations.acknowledgement ? { block: packet.readUInt16BE(2) } : undefined;
}

export const dataHeader = 4;

/** Writes the header of a block whose data stand behind it already. */
export function writeDataHeader(packet: Buffer, block: number): void {
  packet.writeUInt16BE(operations.data, 0);
  packet.writeUInt16BE(block & 0xffff, 2);
}

export function optionAcknowledgement(options: ReadonlyMap<string, string>): Buffer {
  const words = [...options].flatMap(([name, value]) => [name, value]);
  return Buffer.concat([Buffer.from([0, operations.optionAcknowledgement]), ...words.map((word) => zeroEnded(word))]);
}

export function errorPacket(code: ErrorCode, message: string): Buffer {
  return Buffer.concat([Buffer.from([0, operations.error, 0, errorCodes[code]]), zeroEnded(message)]);
}

const zeroEnded = (text: string): Buffer => Buffer.from(`${text}\0`);
