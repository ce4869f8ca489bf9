/** Bytes of what NATS says in one line; the longest tells of itself. */
const longestLine = 64 * 1024;
/** Bytes of a message: NATS as muster configures it takes no larger ones. */
export const largestPayload = 2 * 1024 * 1024;

const message = /^MSG \S{1,1024} \d{1,9} (?:\S{1,1024} )?(\d{1,8})$/;
const others = /^(?:PING|PONG|\+OK|-ERR [ -~]{1,1024})$/;

/**
 * Looks at what a NATS server sends before the client of NATS does, which believes it: a message that is announced as larger than memory, or a line
 * that never ends, breaks the connection here.
 */
export class ProtocolGuard {
  #line: Buffer[] = [];
  #lineLength = 0;
  /** Bytes of a message, with the end of its line, that are still to come. */
  #payload = 0;

  /** What is wrong, in a clause; undefined: nothing is so far. */
  check(chunk: Uint8Array): string | undefined {
    for (let at = 0; at < chunk.length; ) {
      if (this.#payload > 0) {
        const taken = Math.min(this.#payload, chunk.length - at);
        const tail = chunk.subarray(at, at + taken);
        if (!endsWell(tail, this.#payload)) return 'it sent a message that is longer than it said';
        this.#payload -= taken;
        at += taken;
        continue;
      }
      const end = chunk.indexOf(10, at);
      const until = end < 0 ? chunk.length : end;
      this.#lineLength += until - at;
      if (this.#lineLength > longestLine) return 'it sent a line that is too long';
      this.#line.push(Buffer.from(chunk.subarray(at, until)));
      if (end < 0) return undefined;
      const problem = this.#take(Buffer.concat(this.#line).toString('latin1'));
      if (problem !== undefined) return problem;
      this.#line = [];
      this.#lineLength = 0;
      at = end + 1;
    }
    return undefined;
  }

  #take(line: string): string | undefined {
    if (!line.endsWith('\r')) return 'it does not speak the protocol of NATS';
    const text = line.slice(0, -1);
    const size = message.exec(text)?.[1];
    if (size !== undefined) {
      if (Number(size) > largestPayload) return `it sent a message of ${size} bytes`;
      this.#payload = Number(size) + 2;
      return undefined;
    }
    if (others.test(text)) return undefined;
    return infoIn(text) ? undefined : 'it does not speak the protocol of NATS';
  }
}

/** Whether the last two bytes of the payload, as far as they are in this piece, are the end of a line. */
function endsWell(piece: Uint8Array, left: number): boolean {
  const [carriage, line] = [piece[left - 2], piece[left - 1]];
  return (carriage === undefined || left < 2 || carriage === 13) && (line === undefined || line === 10);
}

/** What a NATS server tells of itself. */
export interface ServerInfo {
  readonly nonce?: string;
}

/** Undefined: the line tells nothing that can be used. */
export function infoIn(line: string): ServerInfo | undefined {
  if (!line.startsWith('INFO ')) return undefined;
  try {
    const info: unknown = JSON.parse(line.slice('INFO '.length));
    if (typeof info !== 'object' || info === null) return undefined;
    const { nonce, max_payload: largest, client_id: id } = info as Record<string, unknown>;
    const isText = nonce === undefined || (typeof nonce === 'string' && nonce.length <= 1_024);
    return isText && [largest, id].every((each) => each === undefined || typeof each === 'number') ? info : undefined;
  } catch {
    return undefined;
  }
}
