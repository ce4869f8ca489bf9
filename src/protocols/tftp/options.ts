/** What a transfer is agreed to be like. */
export interface Agreement {
  /** Bytes of a block. */
  readonly blockSize: number;
  /** Blocks that are sent before the client must say that it has them (RFC 7440). */
  readonly window: number;
  /** Milliseconds until what was not acknowledged is sent again. */
  readonly retryDelay: number;
  /** What the client is told of its options; empty: it asked for none that is known. */
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
