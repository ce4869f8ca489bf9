import { Fault } from '../../core/errors.ts';
import type { Trust } from './trust.ts';

/** The certificate a service shows. Nodes may share a connection: each sends only if it is the one known for it, or its first. */
export class Identity {
  readonly #where: string;
  readonly #trust: Trust;
  readonly #accepted = new Set<string>();
  /** By the connection that is open. */
  #shown: string | undefined;
  /** By the latest connection, also after it has ended. */
  #latest: string | undefined;

  constructor(where: string, trust: Trust) {
    this.#where = where;
    this.#trust = trust;
  }

  /** Whether a node has nothing to look at: it has accepted what is shown, or the next connection will ask for it. */
  isSettled(key: string): boolean {
    return this.#shown === undefined || this.#trust.ca !== undefined || this.#accepted.has(key);
  }

  /** Of a connection that is open already. */
  async accept(key: string): Promise<void> {
    const shown = this.#shown;
    if (shown === undefined) return;
    await this.#check(key, shown);
    if (shown === this.#shown) this.#accepted.add(key);
  }

  /** The connection has ended: nodes look at what the next one shows. To log out, it is enough that this is the same as before. */
  forget(): void {
    this.#shown = undefined;
    this.#accepted.clear();
  }

  /** A new connection shows this; `keys` are the nodes that wait for it, also those that come while others are asked. */
  async show(shown: string, keys: Iterable<string>): Promise<void> {
    const same = this.#latest !== undefined && isSame(this.#latest, shown);
    if (!same) {
      this.#accepted.clear();
      this.#shown = undefined;
    }
    let asked = false;
    for (const key of keys) {
      asked = true;
      await this.#check(key, shown);
      this.#accepted.add(key);
    }
    if (!same && !asked)
      throw new Fault('unavailable', `the certificate shown at ${this.#where} is not the one known there.`);
    this.#shown = shown;
    this.#latest = shown;
  }

  async #check(key: string, shown: string): Promise<void> {
    const known = this.#trust.known(key);
    if (known === undefined) return this.#trust.learn(key, shown);
    if (isSame(known, shown) || (await this.#trust.succeeds?.(key, shown))) return;
    const remedy = this.#trust.howToForget ? ` (${this.#trust.howToForget(key)})` : '';
    throw new Fault(
      'invalid',
      `the certificate of its BMC at ${this.#where} has changed, and nothing was sent to it. ` +
        `The SHA-256 fingerprint known since first use is ${known}, the one shown now is ${shown}. ` +
        `If the change is expected (a new board, a new certificate), remove the fingerprint stored for ${key}${remedy}; ` +
        'the next request then accepts the new one.',
    );
  }
}

function isSame(a: string, b: string): boolean {
  const plain = (text: string): string => text.replaceAll(':', '').toLowerCase();
  return plain(a) === plain(b);
}
