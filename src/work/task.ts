import { Turns } from '../core/waiting.ts';
import type { Batch, FromChild, Order, Work } from './messages.ts';
import { linesOf, runProgram } from './program.ts';
import { type RunRecord, writeRecord } from './records.ts';
import { checkReserve, makeStaging, stagingPath } from './stagings.ts';

const every = 50;
const mostLines = 100;
const mostCharacters = 16_384;

/**
 * Gathers lines and progress, and sends them a few times a second: whoever gets them has others to serve. Of a program that prints
 * faster than anybody can read, the first lines of each moment and the last one are sent.
 */
export class Outbox {
  readonly #send: (batch: Batch) => void;
  #lines: string[] = [];
  #characters = 0;
  #leftOut = 0;
  #last = '';
  #done = 0;
  #of = 1;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (batch: Batch) => void) {
    this.#send = send;
  }

  tell(line: string): void {
    if (this.#lines.length < mostLines && this.#characters < mostCharacters) {
      this.#lines.push(line);
      this.#characters += line.length;
    } else {
      this.#leftOut++;
      this.#last = line;
    }
    this.#sendSoon();
  }

  progress(done: number, of: number): void {
    if (!(of > 0) || !(done >= 0) || !Number.isFinite(of)) return;
    this.#done = Math.min(done, of);
    this.#of = of;
    this.#sendSoon();
  }

  flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#leftOut > 1) this.#lines.push(`(${this.#leftOut - 1} lines are left out here)`);
    if (this.#leftOut > 0) this.#lines.push(this.#last);
    this.#send({ lines: this.#lines, done: this.#done, of: this.#of });
    this.#lines = [];
    this.#characters = this.#leftOut = 0;
  }

  #sendSoon(): void {
    this.#timer ??= setTimeout(() => this.flush(), every);
  }
}

/** What the work is given, in the process that does it, and how to send the last lines it has printed. */
export function openTask(
  { directory, record, reserve, isolated }: Order,
  signal: AbortSignal,
  send: (message: FromChild) => void,
): { readonly task: Work; flush(): void } {
  const outbox = new Outbox((batch: Batch) => send({ batch }));
  const tell = (line: string): void => outbox.tell(line);
  const turns = new Turns();
  let recorded: RunRecord = record;
  const task: Work = {
    run: record.run,
    signal,
    hasOwnMounts: isolated,
    tell: (line) => linesOf(line).forEach(tell),
    progress: (done, of) => outbox.progress(done, of),
    staging: (beside, { movesOnly = false } = {}) =>
      turns.take(async () => {
        signal.throwIfAborted();
        const path = await stagingPath(beside, record.run, recorded.stagings.length + 1);
        if (!movesOnly) await checkReserve(beside, reserve);
        // Noted before it is there: whatever happens, the next muster knows what to remove.
        recorded = { ...recorded, stagings: [...recorded.stagings, path] };
        await writeRecord(directory, recorded);
        await makeStaging(path);
        if (!movesOnly) send({ staging: path });
        return path;
      }),
    program: (file, args, options = {}) => runProgram(file, args, options, { signal, isolated, tell }),
  };
  return { task, flush: () => outbox.flush() };
}
