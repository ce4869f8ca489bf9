import { setTimeout as pause } from 'node:timers/promises';
import { Fault, Unreachable } from '../core/errors.ts';
import type { Console, OpenConsole } from '../drivers/index.ts';
import type { ConsoleState } from './messages.ts';

/** Milliseconds that a machine may take until its console is open. */
const openTimeout = 60_000;
/** Milliseconds to wait before it is tried again; the last for all that follow. */
const pauses = [1_000, 2_000, 5_000, 10_000, 20_000, 60_000];
/** The same where trying again soon would help nobody, and wrong passwords might lock an account. */
const longPauses = [15_000, 60_000, 300_000];
/** A connection that lasted so long was a good one. */
const lasting = 30_000;

interface ConnectionParts {
  /** Finds the console as the node is defined now; its turn to be opened has come when it resolves. */
  find(): Promise<Console>;
  /** Runs it when not too many others are being opened. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  output(bytes: Uint8Array): void;
  cut(bytes: number): void;
  changed(): void;
  unforeseen(error: unknown): void;
}

/** Keeps the console of a machine open: whatever ends it, muster opens it again. */
export class Connection {
  readonly #parts: ConnectionParts;
  readonly #end = new AbortController();
  readonly #ended: Promise<void>;
  #open: OpenConsole | undefined;
  /** What the hardware calls the last one: it may still have it when that was lost. */
  #session: number | undefined;
  /** Closes it, so that it is opened again in another way. */
  #move: (() => void) | undefined;
  #wake: AbortController | undefined;
  #takesOver: boolean;
  #failures = 0;
  #retryAfter = 0;
  state: ConsoleState = 'connecting';
  /** Why it is not connected. */
  why: string | undefined;
  way: string | undefined;
  /** Since when it is in this state. */
  since = new Date();

  constructor(parts: ConnectionParts, takeOver: boolean) {
    this.#parts = parts;
    this.#takesOver = takeOver;
    this.#ended = this.#keepOpen();
  }

  /** The same, and what happens next. */
  get message(): string | undefined {
    return this.why === undefined ? undefined : `${this.why} muster tries again in ${this.#retryAfter} s.`;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#opened().write(bytes);
  }

  async sendBreak(): Promise<void> {
    await this.#opened().sendBreak();
  }

  /** Ends the pause before the next attempt. */
  connectNow(takeOver: boolean): void {
    if (this.state !== 'waiting') return;
    this.#takesOver ||= takeOver;
    this.#wake?.abort();
  }

  /** Opens it again at once: somebody else has to have it from now on. */
  move(): void {
    this.#move?.();
    this.connectNow(false);
  }

  async close(): Promise<void> {
    this.#end.abort();
    this.#wake?.abort();
    await this.#ended;
  }

  #opened(): OpenConsole {
    if (!this.#open) throw new Fault('unavailable', 'The console is not connected.');
    return this.#open;
  }

  async #keepOpen(): Promise<void> {
    const { signal } = this.#end;
    // Whoever made it has to have it first.
    await Promise.resolve();
    while (!signal.aborted) {
      let wait: number;
      try {
        const reason = await this.#openOnce();
        if (signal.aborted) return;
        if (reason === undefined) continue;
        wait = this.#nextPause(pauses);
        this.#become('waiting', reason, wait);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof Fault)) this.#parts.unforeseen(error);
        wait = this.#nextPause(error instanceof Unreachable ? pauses : longPauses);
        this.#become('waiting', sentenceOf(error), wait);
      }
      this.#wake = new AbortController();
      await pause(wait, undefined, { signal: this.#wake.signal, ref: false }).catch(() => {});
      this.#wake = undefined;
    }
  }

  #nextPause(all: readonly number[]): number {
    return all[Math.min(this.#failures++, all.length - 1)]!;
  }

  /** Resolves with why it was closed; undefined: it moves. */
  async #openOnce(): Promise<string | undefined> {
    const { find, inTurn, output, cut } = this.#parts;
    const { signal } = this.#end;
    this.#become('connecting');
    let closed: (reason: string) => void;
    const closing = new Promise<string>((resolve) => (closed = resolve));
    const open = await inTurn(async () => {
      signal.throwIfAborted();
      const console = await find();
      const takeOver = this.#takesOver;
      this.#takesOver = false;
      return console.open(
        {
          takeOver,
          lost: this.#session,
          output: (bytes) => output(bytes),
          cut: (bytes) => cut(bytes),
          closed: (reason) => closed(reason ? sentenceOf(reason) : 'The console was closed.'),
        },
        AbortSignal.any([signal, AbortSignal.timeout(openTimeout)]),
      );
    });
    this.#open = open;
    this.#session = open.session;
    this.way = open.way;
    const began = performance.now();
    this.#become('connected');
    const left = new Promise<undefined>((resolve) => {
      this.#move = () => resolve(undefined);
      signal.addEventListener('abort', this.#move, { once: true });
    });
    if (signal.aborted) this.#move!();
    const reason = await Promise.race([closing, left]);
    this.#open = undefined;
    signal.removeEventListener('abort', this.#move!);
    this.#move = undefined;
    if (performance.now() - began > lasting) this.#failures = 0;
    if (reason === undefined) await open.close().catch((error: unknown) => this.#parts.unforeseen(error));
    return reason;
  }

  #become(state: ConsoleState, why?: string, wait = 0): void {
    this.state = state;
    this.why = why;
    this.#retryAfter = wait / 1_000;
    this.since = new Date();
    this.#parts.changed();
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof Fault) return error.sentences.join(' ');
  if (error instanceof Error && error.name === 'TimeoutError')
    return `It did not open within ${openTimeout / 1_000} s.`;
  return 'Something went wrong inside muster; its log says more.';
}
