import type { TokenScope } from '../access/token-scope.ts';
import type { ConsoleMessage, ConsoleRequest, ShownViewer } from './messages.ts';

/** Bytes that wait for a slow client; when there are more, output is cut for it. */
const mostWaiting = 262_144;

/** A client's connection, as the console needs it. */
export interface ViewerSink {
  /** Calls back when the network has taken it. */
  send(data: Buffer | string, taken: () => void): void;
  /** Takes no more of what the client types until it is resumed. */
  pause(): void;
  resume(): void;
  onTyped(heard: (bytes: Buffer) => void): void;
  onRequest(heard: (request: ConsoleRequest) => void): void;
  onClose(heard: () => void): void;
  /** The last that is sent says why. */
  end(reason: string): void;
}

/** Who looks at a console. */
export interface ViewerIdentity {
  readonly user: string;
  readonly scope: TokenScope | undefined;
  readonly client: string;
  readonly addresses: readonly string[];
  readonly token: string | undefined;
  readonly login: string | undefined;
  /** The run of the request, for the audit log. */
  readonly request: string;
  /** What the policy was asked for. */
  readonly line: string;
  readonly mayWrite: boolean;
}

/** Somebody who looks at a console. However slow they are, nobody else waits. */
export class Viewer {
  readonly number: number;
  readonly identity: ViewerIdentity;
  readonly since = new Date().toISOString();
  readonly sink: ViewerSink;
  #waiting: (Buffer | string)[] = [];
  #size = 0;
  #cut = 0;
  #underWay = 0;
  isOver = false;

  constructor(number: number, identity: ViewerIdentity, sink: ViewerSink) {
    this.number = number;
    this.identity = identity;
    this.sink = sink;
  }

  shown(writes: boolean): ShownViewer {
    const { user, client } = this.identity;
    return { viewer: this.number, user, client, since: this.since, writes };
  }

  output(bytes: Buffer): void {
    this.#size += bytes.length;
    this.#waiting.push(bytes);
    if (this.#size > mostWaiting) this.#leaveOut();
    this.#pump();
  }

  /** Messages are few and short; of states that wait only the last counts. */
  tell(message: ConsoleMessage): void {
    if (message.type === 'state')
      this.#waiting = this.#waiting.filter((each) => typeof each !== 'string' || !each.startsWith('{"type":"state"'));
    this.#waiting.push(JSON.stringify(message));
    const messages = this.#waiting.filter((each) => typeof each === 'string');
    if (messages.length > mostMessages) this.#waiting.splice(this.#waiting.indexOf(messages[0]!), 1);
    this.#pump();
  }

  end(message: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#waiting = [];
    this.sink.end(message);
  }

  /** What waits is old by now: the client gets what comes from now on. */
  #leaveOut(): void {
    this.#cut += this.#size;
    this.#size = 0;
    this.#waiting = this.#waiting.filter((each) => typeof each === 'string').slice(-mostMessages);
  }

  #pump(): void {
    while (!this.isOver && this.#underWay < mostUnderWay) {
      const next = this.#next();
      if (next === undefined) return;
      const size = next.length;
      this.#underWay += size;
      this.sink.send(next, () => {
        this.#underWay -= size;
        this.#pump();
      });
    }
  }

  #next(): Buffer | string | undefined {
    if (this.#cut > 0) {
      const cut: ConsoleMessage = { type: 'cut', bytes: this.#cut };
      this.#cut = 0;
      return JSON.stringify(cut);
    }
    const [first] = this.#waiting;
    if (typeof first !== 'object') return this.#waiting.shift();
    // What came in many small pieces leaves in one.
    const end = this.#waiting.findIndex((each) => typeof each === 'string');
    const pieces = this.#waiting.splice(0, end < 0 ? this.#waiting.length : end) as Buffer[];
    const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    this.#size -= bytes.length;
    return bytes;
  }
}

const mostMessages = 20;
/** Bytes that the network may have before it has taken them. */
const mostUnderWay = 65_536;
