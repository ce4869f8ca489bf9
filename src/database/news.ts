import type { Logger } from '../core/log.ts';
import type { SharedRecords } from './shared-records.ts';

const kind = 'news';
/** Milliseconds that news are collected. */
const delay = 50;
/** Bytes of what PostgreSQL sends at a time, which takes less than 8,000. */
const mostBytes = 7_000;

/** Undefined: there is nobody to send any to. */
export const openNews = (shared: SharedRecords, holder: string, log: Logger): News | undefined =>
  shared.isAlone ? undefined : new News(shared, holder, log);

/**
 * What happens at one server and those who listen at another want to hear: short messages that are plain JSON, several sent together. A
 * server that is away at that moment does not hear them.
 */
export class News {
  readonly #shared: SharedRecords;
  readonly #holder: string;
  readonly #log: Logger;
  readonly #hearers = new Map<string, (message: unknown) => void>();
  #texts: string[] = [];

  constructor(shared: SharedRecords, holder: string, log: Logger) {
    this.#shared = shared;
    this.#holder = holder;
    this.#log = log;
    shared.hear((heard) => {
      if (heard.kind === kind && heard.holder !== holder) this.#hear(heard.name);
    });
  }

  tell(topic: string, message: unknown): void {
    const isFirst = this.#texts.push(JSON.stringify([topic, message])) === 1;
    if (isFirst) setTimeout(() => this.#send(), delay).unref();
  }

  /** Calls back with all that other servers tell of a topic. */
  hear<T>(topic: string, heard: (message: T) => void): void {
    this.#hearers.set(topic, heard as (message: unknown) => void);
  }

  #send(): void {
    const texts = this.#texts;
    this.#texts = [];
    let together: string[] = [];
    let bytes = 0;
    for (const text of texts) {
      // Quotes in it are escaped once more.
      const size = Buffer.byteLength(JSON.stringify(text)) + 1;
      if (size > mostBytes) {
        this.#log.debug('a message to other servers was too long and was not sent');
        continue;
      }
      if (bytes + size > mostBytes) {
        this.#announce(together);
        [together, bytes] = [[], 0];
      }
      together.push(text);
      bytes += size;
    }
    if (together.length > 0) this.#announce(together);
  }

  #announce(texts: readonly string[]): void {
    this.#shared
      .announce({ kind, name: `[${texts.join()}]`, holder: this.#holder })
      .catch((error: unknown) => this.#log.debug({ err: error }, 'other servers could not be sent news'));
  }

  #hear(text: string): void {
    try {
      for (const [topic, message] of JSON.parse(text) as [string, unknown][]) this.#hearers.get(topic)?.(message);
    } catch (error) {
      // A server of another version may say it differently.
      this.#log.warn({ err: error }, 'what another server sent was not understood');
    }
  }
}
