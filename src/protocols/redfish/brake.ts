import { createHmac, randomBytes } from 'node:crypto';
import type { Refusal } from './faults.ts';
import type { Account } from './session.ts';

const maximumKept = 10_000;

/**
 * An account that was refused is not tried again for a while: service processors lock accounts after a few wrong passwords, and
 * a thousand requests may wait with the same one.
 */
export class LoginBrake {
  readonly #milliseconds: number;
  readonly #key = randomBytes(32);
  readonly #refused = new Map<string, { readonly until: number; readonly refusal: Refusal }>();

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
  }

  /** Fails as the last attempt did, while it is remembered. */
  check(where: string, account: Account): void {
    if (this.#refused.size === 0) return;
    const refused = this.#refused.get(this.#fingerprint(where, account));
    if (refused && performance.now() < refused.until) throw refused.refusal;
  }

  note(where: string, account: Account, refusal: Refusal): void {
    const now = performance.now();
    if (this.#refused.size >= maximumKept) this.#refused.clear();
    for (const [key, { until }] of this.#refused) if (until <= now) this.#refused.delete(key);
    this.#refused.set(this.#fingerprint(where, account), { until: now + this.#milliseconds, refusal });
  }

  /** Of the password too: another one may be the right one. */
  #fingerprint(where: string, { username, password }: Account): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify([where, username, password]))
      .digest('base64');
  }
}
