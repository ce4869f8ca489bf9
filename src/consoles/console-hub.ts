import type { Console } from '../drivers/index.ts';
import { Connection } from './connection.ts';
import { Desk } from './desk.ts';
import { LineCutter } from './line-cutter.ts';
import { type ConsoleAllowance, costs } from './log-allowance.ts';
import { escapeOutput } from './log-format.ts';
import type { ConsoleLogs } from './logs.ts';
import type { ShownViewer } from './messages.ts';
import { Tail } from './tail.ts';
import type { TroubleWatch } from './trouble.ts';
import { Viewer, type ViewerIdentity, type ViewerSink } from './viewer.ts';

/** Bytes of output that whoever comes later gets first. */
export const mostReplayed = 16_384;
/** Milliseconds after which the beginning of a line is logged: a prompt waits for an answer. */
const promptDelay = 2_000;
/** Bytes that are logged before it is looked whether more may be. */
const pieceSize = 4_096;

interface HubParts {
  readonly node: string;
  readonly logs: ConsoleLogs;
  readonly trouble: TroubleWatch;
  readonly allowance: ConsoleAllowance;
  find(): Promise<Console>;
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  audit(viewer: Viewer, what: string): void;
  mayTakeOver(viewer: Viewer): boolean;
  unforeseen(error: unknown): void;
  /** The last viewer has left. */
  deserted(): void;
}

/** What is shown of an open console. */
export interface ShownConsole {
  readonly node: string;
  readonly state: string;
  readonly since: string;
  readonly way: string;
  readonly message: string;
  /** It stays open without viewers. */
  readonly kept: boolean;
  readonly writer: string;
  readonly viewers: readonly ShownViewer[];
}

/** The console of one node: a connection to the machine, its log, and everybody who looks at it. */
export class ConsoleHub {
  readonly #parts: HubParts;
  readonly #connection: Connection;
  readonly #desk: Desk;
  readonly #cutter: LineCutter;
  readonly #latest = new Tail(mostReplayed);
  #noted = '';
  #numbers = 0;
  /** Bytes that are not logged, because there are too many. */
  #leftOut = 0;
  #prompt: NodeJS.Timeout | undefined;
  /** It stays open without viewers. */
  isKept: boolean;

  constructor(parts: HubParts, isKept: boolean, takeOver: boolean) {
    this.#parts = parts;
    this.isKept = isKept;
    const { node, logs, trouble, allowance } = parts;
    this.#cutter = new LineCutter((text, end) => {
      const escaped = escapeOutput(text);
      const more = escaped.length - text.length;
      allowance.spend(costs.line + text.length * costs.character + more * costs.escaped);
      logs.output(node, escaped, end);
      trouble.look(node, escaped);
    });
    this.#connection = new Connection(
      {
        find: parts.find,
        inTurn: parts.inTurn,
        output: (bytes) => this.#output(bytes),
        cut: (bytes) => this.#cut(bytes),
        changed: () => this.#changed(),
        unforeseen: parts.unforeseen,
      },
      takeOver,
    );
    this.#desk = new Desk({
      node,
      line: this.#connection,
      audit: (viewer, what) => parts.audit(viewer, what),
      mayTakeOver: (viewer) => parts.mayTakeOver(viewer),
    });
  }

  get viewers(): ReadonlySet<Viewer> {
    return this.#desk.viewers;
  }

  get hasOutput(): boolean {
    return !this.#latest.isEmpty;
  }

  get state(): string {
    return this.#connection.state;
  }

  /** Resolves when the viewer has left. */
  async enter(identity: ViewerIdentity, sink: ViewerSink, takeOver: boolean): Promise<void> {
    const viewer = new Viewer(++this.#numbers, identity, sink);
    const left = new Promise<void>((resolve) => sink.onClose(resolve));
    // In the same turn, so that nothing comes twice or not at all.
    if (!this.#latest.isEmpty) viewer.output(this.#latest.bytes);
    this.#desk.enter(viewer);
    if (takeOver && this.#desk.writer === viewer) this.#connection.connectNow(true);
    await left;
    viewer.isOver = true;
    this.#parts.audit(viewer, 'left');
    this.#desk.leave(viewer);
    if (this.viewers.size === 0) this.#parts.deserted();
  }

  /** It is opened again by whoever has to have it now. */
  move(): void {
    this.#connection.move();
  }

  /** What was logged before muster opened it. */
  remember(bytes: Buffer): void {
    if (this.#latest.isEmpty) this.#latest.add(bytes);
  }

  shown(): ShownConsole {
    const { state, since, way = '', message = '' } = this.#connection;
    const { writer } = this.#desk;
    return {
      node: this.#parts.node,
      state,
      since: since.toISOString(),
      way,
      message,
      kept: this.isKept,
      writer: writer?.identity.user ?? '',
      viewers: [...this.viewers].map((viewer) => viewer.shown(viewer === writer)),
    };
  }

  async close(reason: string): Promise<void> {
    for (const viewer of this.viewers) viewer.end(reason);
    await this.#connection.close();
    this.#endLine();
    this.#noteLeftOut();
  }

  #output(bytes: Uint8Array): void {
    // The driver may use its buffer again.
    const own = Buffer.from(bytes);
    this.#log(own);
    this.#latest.add(own);
    for (const viewer of this.viewers) viewer.output(own);
    if (this.#cutter.hasBegun) this.#prompt ??= setTimeout(() => this.#endLine(), promptDelay).unref();
  }

  #log(bytes: Buffer): void {
    const { node, logs, allowance } = this.#parts;
    for (let at = 0; at < bytes.length; at += pieceSize) {
      if (allowance.isSpent || !logs.hasRoom(node)) return this.#leaveOut(bytes.length - at);
      this.#noteLeftOut();
      allowance.spend(costs.piece);
      this.#cutter.add(bytes.subarray(at, at + pieceSize));
    }
  }

  /** Viewers see it all the same. */
  #leaveOut(count: number): void {
    const { node, logs } = this.#parts;
    if (this.#leftOut === 0) {
      this.#endLine();
      logs.note(node, 'from here on output is missing: it came faster than it could be logged');
    }
    this.#leftOut += count;
  }

  #noteLeftOut(): void {
    const { node, logs } = this.#parts;
    if (this.#leftOut > 0) logs.note(node, `${this.#leftOut} bytes of output are missing before this line`);
    this.#leftOut = 0;
  }

  /** What a service node left out, nobody sees. */
  #cut(bytes: number): void {
    this.#parts.allowance.spend(costs.line);
    this.#leaveOut(bytes);
    for (const viewer of this.viewers) viewer.tell({ type: 'cut', bytes });
  }

  #endLine(): void {
    clearTimeout(this.#prompt);
    this.#prompt = undefined;
    this.#cutter.flush();
  }

  #changed(): void {
    const { state, why, way } = this.#connection;
    const { node, logs } = this.#parts;
    this.#endLine();
    const note = state === 'connected' ? `connected: ${way}` : state === 'waiting' ? `not connected: ${why}` : '';
    // Of many attempts that fail alike, the first is noted.
    if (note !== '' && note !== this.#noted) logs.note(node, (this.#noted = note));
    if (state !== 'connected') this.#desk.dropTyped();
    this.#desk.tellState();
  }
}
