import { Fault } from '../core/errors.ts';
import type { ConsoleMessage, ConsoleRequest, ConsoleState } from './messages.ts';
import type { Viewer } from './viewer.ts';

/** Bytes typed that wait for the machine to take them. */
const mostTyped = 16_384;

/** What the desk needs of the connection to the machine. */
export interface Line {
  readonly state: ConsoleState;
  readonly way: string | undefined;
  readonly message: string | undefined;
  write(bytes: Uint8Array): Promise<void>;
  sendBreak(): Promise<void>;
  connectNow(takeOver: boolean): void;
}

interface DeskParts {
  readonly node: string;
  readonly line: Line;
  /** For the audit log. */
  audit(viewer: Viewer, what: string): void;
  /** Whether the policy allows to take the console from whoever has it outside of muster. */
  mayTakeOver(viewer: Viewer): boolean;
}

/** Who looks at a console, and which one of them types. */
export class Desk {
  readonly #parts: DeskParts;
  readonly viewers = new Set<Viewer>();
  #writer: Viewer | undefined;
  #typed: Buffer[] = [];
  #typedSize = 0;
  #isWriting = false;
  #lastRefusal: string | undefined;

  constructor(parts: DeskParts) {
    this.#parts = parts;
  }

  get writer(): Viewer | undefined {
    return this.#writer;
  }

  enter(viewer: Viewer): void {
    this.viewers.add(viewer);
    if (!this.#writer && viewer.identity.mayWrite) this.#setWriter(viewer, 'types');
    viewer.sink.onTyped((bytes) => this.#type(viewer, bytes));
    viewer.sink.onRequest((request) => this.#do(viewer, request));
    this.tellState();
  }

  leave(viewer: Viewer): void {
    if (!this.viewers.delete(viewer)) return;
    if (this.#writer === viewer) this.#setWriter(undefined, '');
    this.tellState();
  }

  tellState(): void {
    const { node, line } = this.#parts;
    const viewers = [...this.viewers].map((each) => each.shown(each === this.#writer));
    for (const each of this.viewers) {
      each.tell({
        type: 'state',
        node,
        state: line.state,
        way: line.way,
        message: line.message,
        viewer: each.number,
        writes: each === this.#writer,
        mayWrite: each.identity.mayWrite,
        viewers,
      });
    }
  }

  /** What was typed for a machine that is away is not for the one that comes back. */
  dropTyped(): void {
    if (this.#typedSize === 0) return;
    this.#forgetTyped();
    if (this.#writer) notice(this.#writer, 'The connection was lost: what you typed last did not arrive.');
  }

  #setWriter(viewer: Viewer | undefined, how: string): void {
    this.#forgetTyped();
    this.#writer = viewer;
    this.#lastRefusal = undefined;
    if (viewer) this.#parts.audit(viewer, how);
  }

  #forgetTyped(): void {
    this.#typed = [];
    this.#typedSize = 0;
    this.#writer?.sink.resume();
  }

  #type(viewer: Viewer, bytes: Buffer): void {
    if (bytes.length === 0) return;
    if (!this.#writer && viewer.identity.mayWrite) {
      this.#setWriter(viewer, 'types');
      this.tellState();
    }
    const refusal = this.#refusal(viewer);
    if (refusal !== undefined) return this.#refuse(viewer, refusal);
    this.#typed.push(bytes);
    this.#typedSize += bytes.length;
    if (this.#typedSize > mostTyped) viewer.sink.pause();
    void this.#write();
  }

  /** Why the viewer cannot type now. */
  #refusal(viewer: Viewer): string | undefined {
    if (!viewer.identity.mayWrite) return 'You may only look on.';
    if (this.#writer && this.#writer !== viewer)
      return `${this.#writer.identity.user} is typing. Ask for the keyboard, or take it.`;
    if (this.#parts.line.state !== 'connected') return 'The console is not connected: what you type is not sent.';
    return undefined;
  }

  /** Not for each key. */
  #refuse(viewer: Viewer, sentence: string): void {
    const refusal = `${viewer.number} ${this.#parts.line.state} ${sentence}`;
    if (this.#lastRefusal === refusal) return;
    this.#lastRefusal = refusal;
    notice(viewer, sentence);
  }

  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    while (this.#typedSize > 0) {
      const bytes = Buffer.concat(this.#typed.splice(0));
      this.#typedSize = 0;
      this.#lastRefusal = undefined;
      try {
        await this.#parts.line.write(bytes);
      } catch (error) {
        if (this.#writer) notice(this.#writer, `What you typed did not arrive: ${sentenceOf(error)}`);
        this.#typed = [];
        this.#typedSize = 0;
      }
      this.#writer?.sink.resume();
    }
    this.#isWriting = false;
  }

  #do(viewer: Viewer, request: ConsoleRequest): void {
    const { line } = this.#parts;
    if (!viewer.identity.mayWrite) return notice(viewer, 'You may only look on.');
    if (request.type === 'reconnect') return line.connectNow(false);
    const writer = this.#writer;
    switch (request.type) {
      case 'break':
        return void this.#break(viewer);
      case 'take':
        return this.#handOver(
          viewer,
          `${viewer.identity.user} has taken the keyboard. You look on.`,
          'took the keyboard',
        );
      case 'takeover':
        return this.#takeOver(viewer);
      case 'ask':
        if (!writer) return this.#handOver(viewer, '', 'types');
        if (writer === viewer) return notice(viewer, 'You have the keyboard.');
        notice(writer, `${viewer.identity.user} (viewer ${viewer.number}) asks for the keyboard. Give it, or go on.`);
        return notice(viewer, `${writer.identity.user} was asked for the keyboard.`);
      case 'release':
        if (writer !== viewer) return notice(viewer, 'You do not have the keyboard.');
        this.#setWriter(undefined, '');
        return this.tellState();
      case 'give': {
        if (writer !== viewer) return notice(viewer, 'You do not have the keyboard.');
        const next = [...this.viewers].find(({ number }) => number === request.to);
        if (!next?.identity.mayWrite) return notice(viewer, `Viewer ${request.to} is not there, or may only look on.`);
        this.#handOver(next, `You gave the keyboard to ${next.identity.user}. You look on.`, 'was given the keyboard');
      }
    }
  }

  #takeOver(viewer: Viewer): void {
    const { line, mayTakeOver, audit } = this.#parts;
    if (this.#writer !== viewer) return notice(viewer, 'Take the keyboard first.');
    if (!mayTakeOver(viewer)) return notice(viewer, 'The policy does not allow you to take the console over.');
    audit(viewer, 'took the console over');
    line.connectNow(true);
  }

  #handOver(next: Viewer, sentence: string, how: string): void {
    const before = this.#writer;
    if (before === next) return notice(next, 'You have the keyboard.');
    this.#setWriter(next, how);
    if (before) notice(before, sentence);
    notice(next, 'You have the keyboard.');
    this.tellState();
  }

  async #break(viewer: Viewer): Promise<void> {
    const refusal = this.#refusal(viewer);
    if (refusal !== undefined) return notice(viewer, refusal);
    try {
      await this.#parts.line.sendBreak();
      notice(viewer, 'The break was sent.');
    } catch (error) {
      notice(viewer, `The break was not sent: ${sentenceOf(error)}`);
    }
  }
}

const notice = (viewer: Viewer, message: string): void =>
  viewer.tell({ type: 'notice', message } satisfies ConsoleMessage);

const sentenceOf = (error: unknown): string =>
  error instanceof Fault ? error.sentences.join(' ') : 'something went wrong inside muster; its log says more.';
