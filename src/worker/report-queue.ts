import { Fault } from '../core/errors.ts';
import { nodeFailure } from '../core/results.ts';
import { type Channel, largestReport, type Report } from '../bus/index.ts';

/** Milliseconds in which reports become one message, and characters after which it is sent at once. */
const gatherFor = 10;
const fullAt = 128 * 1024;

/** Results and effects on their way to the server: gathered for a moment, and no faster than the server takes them. */
export class ReportQueue {
  readonly #channel: Channel;
  #texts: string[] = [];
  #size = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The message before. */
  #sending: Promise<void> = Promise.resolve();

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  add(report: Report): void {
    const text = textOf(report);
    this.#texts.push(text);
    this.#size += text.length;
    if (this.#size >= fullAt) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), gatherFor);
  }

  /** Resolves when all of it is on its way, or nobody takes it any more. */
  flush(): Promise<void> {
    this.#send();
    return this.#sending;
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#texts.length === 0) return;
    const message = Buffer.from(`{"is":"reports","reports":[${this.#texts.join(',')}]}`);
    this.#texts = [];
    this.#size = 0;
    // A server that is gone has given the nodes to others, or says that it may have happened.
    this.#sending = this.#channel.send(message).catch(() => undefined);
  }
}

function textOf(report: Report): string {
  const text = JSON.stringify(report);
  if (Buffer.byteLength(text) <= largestReport / 2 || !('result' in report)) return text;
  const { node } = report.result;
  const tooLarge = new Fault('invalid', 'its output is too large to be sent from the worker to the server.');
  return JSON.stringify({ result: nodeFailure(node, tooLarge) });
}
