import { hash, randomBytes } from 'node:crypto';
import { Fault } from '../core/errors.ts';
import { freshSetting, isCryptHash, maximumPasswordBytes, sameText, verifyPassword } from './crypt.ts';
import { Throttle } from './throttle.ts';

export interface Account {
  name: string;
  /** The stored crypt hash. */
  stored: string;
}

interface LoginResult {
  how: 'password' | 'hash';
}

interface LoginOptions {
  now?: () => number;
  verify?: (clear: string, stored: string) => Promise<boolean>;
}

const rememberFor = 15 * 60_000;
const maximumRemembered = 4096;
const maximumNameLength = 256;
const byPassword: LoginResult = { how: 'password' };
const byHash: LoginResult = { how: 'hash' };

/** Checks account and password; a pair found right is remembered, so that sending it with every request costs no crypt. */
export class Logins {
  readonly #now: () => number;
  readonly #verify: (clear: string, stored: string) => Promise<boolean>;
  readonly #throttle: Throttle;
  readonly #key = randomBytes(32).toString('base64');
  /** What a connection sent last, since it mostly sends the same again. */
  readonly #sent = new WeakMap<object, { name: string; stored: string; password: string; guess: string }>();
  /** Keyed hash of account, stored hash and password -> when it is forgotten. */
  readonly #remembered = new Map<string, number>();
  /** What unknown accounts are checked against: the last real account's hash, so that both cost the same. */
  #decoy: string | undefined;

  constructor(options: LoginOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#verify = options.verify ?? verifyPassword;
    this.#throttle = new Throttle(this.#now);
  }

  /** Settles when the pair is right, for the row as it was when asked; else a Fault: 'unauthenticated', or 'unavailable' for now. */
  check(
    name: string,
    password: string,
    address: string,
    account: Account | undefined,
    hashLogin: boolean,
    connection: object,
  ): LoginResult | Promise<LoginResult> {
    if (!name || !password || name.length > maximumNameLength || password.length > maximumPasswordBytes) {
      throw new Fault('unauthenticated', 'Authentication failure');
    }
    const guess = this.#guessOf(connection, name, account?.stored ?? '', password);
    if (this.#throttle.isFree(name, address)) {
      const result = this.#recognise(guess, password, account, hashLogin);
      if (result) return result;
    }
    return this.#throttle.attempt(name, address, guess, async () => {
      const result = this.#recognise(guess, password, account, hashLogin);
      if (result) return result;
      if (account && isCryptHash(account.stored)) this.#decoy = account.stored;
      const stored = account?.stored ?? (this.#decoy ??= freshSetting());
      const right = await this.#verify(password, stored);
      if (!right || !account) return undefined;
      this.#remember(guess);
      return byPassword;
    });
  }

  #recognise(
    guess: string,
    password: string,
    account: Account | undefined,
    hashLogin: boolean,
  ): LoginResult | undefined {
    if (!account) return undefined;
    const until = this.#remembered.get(guess);
    if (until !== undefined) {
      if (until > this.#now()) return byPassword;
      this.#remembered.delete(guess);
    }
    return hashLogin && sameText(password, account.stored) && isCryptHash(account.stored) ? byHash : undefined;
  }

  #remember(guess: string): void {
    if (this.#remembered.size >= maximumRemembered) {
      for (const oldest of this.#remembered.keys()) {
        this.#remembered.delete(oldest);
        break;
      }
    }
    this.#remembered.set(guess, this.#now() + rememberFor);
  }

  #guessOf(connection: object, name: string, stored: string, password: string): string {
    const last = this.#sent.get(connection);
    if (last?.name === name && last.stored === stored && last.password === password) return last.guess;
    const guess = this.#fingerprint(name, stored, password);
    this.#sent.set(connection, { name, stored, password, guess });
    return guess;
  }

  /** Tied to the stored hash: when the row changes, nothing remembered for it is found any more. */
  #fingerprint(name: string, stored: string, password: string): string {
    return hash('sha256', `${this.#key}${name.length}:${name}${stored.length}:${stored}${password}`, 'base64url');
  }
}
