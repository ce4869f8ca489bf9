import type { Logger } from '../core/log.ts';
import type { EventHub } from '../events/index.ts';

/** Milliseconds until a machine is mentioned again. */
const mentionedAgain = 3_600_000;
/** Whoever can ask could make up MAC addresses, and fill the log. */
const mostInTime = 1_000;

/** Mentions machines that ask for a boot script and are no node, each once an hour. */
export class Strangers {
  readonly #log: Logger;
  readonly #events: Pick<EventHub, 'notice'>;
  readonly #mentioned = new Map<string, number>();

  constructor(log: Logger, events: Pick<EventHub, 'notice'>) {
    this.#log = log;
    this.#events = events;
  }

  note(mac: string, address: string): void {
    const now = Date.now();
    // The oldest come first.
    for (const [known, at] of this.#mentioned) {
      if (at + mentionedAgain > now) break;
      this.#mentioned.delete(known);
    }
    if (this.#mentioned.has(mac) || this.#mentioned.size >= mostInTime) return;
    this.#mentioned.set(mac, now);
    const sentence = `The machine with the MAC ${mac} at ${address} asks what to boot, and no node has this MAC.`;
    this.#log.info(sentence);
    this.#events.notice([], `${sentence} If it is a node, set the attribute mac of the node.`);
  }
}
