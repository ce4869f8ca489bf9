import type { Duplex } from 'node:stream';
import { unwatchAbort, watchAbort } from '../../../core/waiting.ts';
import { Fault } from '../../../core/errors.ts';
import { abortFault } from '../faults.ts';
import { AnswerReader, answers, type RequestWriter, requests } from './wire.ts';

/** OpenSSH's own limit for one message. */
const maximumMessage = 256 * 1024;
const wantedVersion = 3;
/** Milliseconds a server has to do what it was sent before the session was closed. */
const farewell = 5_000;

/** What a server refused, by the number of its status. */
export class SftpRefusal extends Fault {
  readonly status: number;

  constructor(status: number, sentence: string) {
    super('invalid', sentence);
    this.status = status;
  }
}

export const statuses = { ok: 0, endOfFile: 1, noSuchFile: 2, failure: 4 } as const;

type Receiver = (answer: AnswerReader | undefined) => void;

/** The messages of one SFTP session: numbered requests, and answers that may come in any order. */
export class SftpSession {
  readonly #stream: Duplex;
  readonly #waiting = new Map<number, Receiver>();
  readonly extensions = new Map<string, string>();
  #greeted: Receiver | undefined;
  #lastId = 0;
  #pieces: Buffer[] = [];
  #size = 0;
  #needed = 4;
  #broken: Fault | undefined;
  #closing = false;

  private constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => this.#receive(chunk));
    stream.on('error', (error) => this.#fail(error));
    stream.on('end', () => this.#fail());
    stream.on('close', () => this.#fail());
  }

  /** Milliseconds until the server must have greeted. */
  static async open(stream: Duplex, timeout: number, signal: AbortSignal): Promise<SftpSession> {
    const session = new SftpSession(stream);
    const silent = new Fault('invalid', `its SFTP server did not answer within ${timeout / 1_000} s.`);
    const timer = setTimeout(() => session.fail(silent), timeout);
    const watch = { aborted: (): void => session.fail(abortFault(signal)) };
    watchAbort(signal, watch);
    try {
      await session.#greet();
    } finally {
      clearTimeout(timer);
      unwatchAbort(signal, watch);
    }
    return session;
  }

  get fault(): Fault {
    return this.#broken ?? closed();
  }

  /** Sends a request; `receive` gets its answer, or nothing if the session has ended. */
  send(type: number, request: RequestWriter, receive: Receiver): void {
    if (this.#broken) {
      receive(undefined);
      return;
    }
    const id = (this.#lastId = (this.#lastId + 1) >>> 0);
    this.#waiting.set(id, receive);
    this.#stream.write(request.packet(type, id));
  }

  /** The answer to a request; a status other than success is a refusal of `what`. */
  ask(type: number, request: RequestWriter, what: string): Promise<AnswerReader> {
    return new Promise((resolve, reject) => {
      this.send(type, request, (answer) => {
        const refusal = answer === undefined ? this.fault : refusalOf(answer, what);
        if (refusal) reject(refusal);
        else resolve(answer!);
      });
    });
  }

  /**
   * Ends the session when all is answered and no answer led to another request, as it does where work that was cancelled tidies up:
   * at the end of its input OpenSSH's server drops what it has not done yet. `timeout` is how many milliseconds that may take.
   */
  close(timeout = farewell): void {
    if (this.#closing || this.#broken) return;
    this.#closing = true;
    const timer = setTimeout(() => this.fail(closed()), timeout).unref();
    this.#stream.once('close', () => clearTimeout(timer));
    this.#endWhenAnswered();
  }

  fail(fault: Fault): void {
    this.#broken ??= fault;
    this.#fail();
    this.#stream.destroy();
  }

  #endWhenAnswered(): void {
    if (!this.#closing || this.#waiting.size > 0) return;
    setImmediate(() => {
      if (this.#waiting.size > 0 || this.#broken) return;
      this.#broken = closed();
      this.#stream.end();
    });
  }

  #greet(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#greeted = (answer) => {
        if (answer === undefined) reject(this.fault);
        else resolve();
      };
      const hello = Buffer.from([0, 0, 0, 5, requests.init, 0, 0, 0, wantedVersion]);
      this.#stream.write(hello);
    });
  }

  #fail(error?: Error): void {
    this.#broken ??=
      error instanceof Fault ? error : new Fault('invalid', 'its SFTP server ended the session before it was done.');
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#greeted?.(undefined);
    for (const receive of waiting) receive(undefined);
  }

  #receive(chunk: Buffer): void {
    if (this.#broken) return;
    this.#pieces.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#needed) return;
    let bytes = this.#pieces.length === 1 ? chunk : Buffer.concat(this.#pieces, this.#size);
    this.#needed = 4;
    while (bytes.length >= 4) {
      const length = bytes.readUInt32BE(0);
      if (length < 5 || length > maximumMessage) {
        this.fail(
          new Fault(
            'garbled',
            'its SFTP server sent something other than SFTP; check whether the start-up files of the shell there print a message.',
          ),
        );
        return;
      }
      if (bytes.length < length + 4) {
        this.#needed = length + 4;
        break;
      }
      this.#message(bytes.subarray(4, length + 4));
      bytes = bytes.subarray(length + 4);
    }
    this.#pieces = bytes.length === 0 ? [] : [bytes];
    this.#size = bytes.length;
  }

  #message(bytes: Buffer): void {
    const answer = new AnswerReader(bytes);
    try {
      if (answer.type === answers.version) this.#hello(answer);
      else {
        const id = bytes.readUInt32BE(1);
        const receive = this.#waiting.get(id);
        this.#waiting.delete(id);
        receive?.(answer);
        this.#endWhenAnswered();
      }
    } catch (error) {
      if (error instanceof Fault) this.fail(error);
      else throw error;
    }
  }

  /** Where answers have an id, this one has its version. */
  #hello(answer: AnswerReader): void {
    while (answer.hasMore) {
      const name = answer.bytes().toString('latin1');
      this.extensions.set(name, answer.bytes().toString('latin1'));
    }
    this.#greeted?.(answer);
    this.#greeted = undefined;
  }
}

const closed = (): Fault => new Fault('invalid', 'the SFTP session was closed.');

const reasons: Readonly<Record<number, string>> = {
  2: 'no such file or directory',
  3: 'permission denied',
  6: 'no connection',
  7: 'the connection was lost',
  8: 'its SFTP server cannot do that',
};

export function refusalOf(answer: AnswerReader, what: string): SftpRefusal | undefined {
  if (answer.type !== answers.status) return undefined;
  const status = answer.word();
  if (status === statuses.ok) return undefined;
  const said = answer.hasMore ? answer.bytes().toString() : '';
  const reason = reasons[status] ?? (said === '' ? `status ${status}` : said.toLowerCase());
  return new SftpRefusal(status, `${what}: ${reason}.`);
}
