import { hash, randomBytes } from 'node:crypto';
import { Fault } from '../core/errors.ts';
import { freshSetting, isCryptHash, maximumPasswordBytes, sameText, verifyPassword } from './crypt.ts';
import { Throttle } from './throttle.ts';

export interface Account {
  name: string;
  /** The stored crypt hash; of an account that is checked elsewhere what it is known by, if it is known. */
  stored: string;
  readonly elsewhere?: CheckElsewhere;
}

/** How passwords are checked that are not stored here. */
export interface CheckElsewhere {
  /** For how many milliseconds a password that was right is not checked again. */
  readonly rememberFor: number;
  /** What the account is known by if the password is right. */
  check(): Promise<string | undefined>;
}

interface LoginResult {
  how: 'password' | 'hash';
  /** What the account was known by when the password was checked. */
  stored: string;
}

interface LoginOptions {
  now?: () => number;
  verify?: (clear: string, stored: string) => Promise<boolean>;
  /** Hears of every failed login: which account, from which network. */
  failed?: (name: string, where: string) => void;
  /** Whether there are accounts that are checked elsewhere. */
  hasElsewhere?: boolean;
}

const rememberFor = 15 * 60_000;
const maximumRemembered = 4096;
const maximumNameLength = 256;
/** Of the wrong ones, where accounts are checked elsewhere too: how long a check took must not tell who has the account, or whether it exists. */
const elsewhereFloor = 1_000;

/** Checks account and password; a pair found right is remembered, so that sending it with every request costs no crypt. */
export class Logins {
  readonly #now: () => number;
  readonly #verify: (clear: string, stored: string) => Promise<boolean>;
  readonly #throttle: Throttle;
  /** Least milliseconds that a wrong guess takes. */
  readonly #floor: number;
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
    this.#throttle = new Throttle(this.#now, options.failed);
    this.#floor = options.hasElsewhere ? elsewhereFloor : 0;
  }

  /** Counts a failed login at another server, so that guessing at several of them gains nothing. */
  countElsewhere(name: string, where: string): void {
    this.#throttle.countElsewhere(name, where);
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
      const began = this.#now();
      const stored = await (account?.elsewhere?.check() ?? this.#verified(password, account));
      if (stored === undefined) {
        const left = this.#floor - (this.#now() - began);
        if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
        return undefined;
      }
      this.#remember(
        account?.elsewhere ? this.#fingerprint(name, stored, password) : guess,
        account?.elsewhere?.rememberFor ?? rememberFor,
      );
      return { how: 'password', stored } as const;
    });
  }

  /** The stored hash, if the password is right. */
  async #verified(password: string, account: Account | undefined): Promise<string | undefined> {
    if (account && isCryptHash(account.stored)) this.#decoy = account.stored;
    const stored = account?.stored ?? (this.#decoy ??= freshSetting());
    const right = await this.#verify(password, stored);
    return right ? account?.stored : undefined;
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
      if (until > this.#now()) return { how: 'password', stored: account.stored };
      this.#remembered.delete(guess);
    }
    const isHash = hashLogin && !account.elsewhere && isCryptHash(account.stored);
    return isHash && sameText(password, account.stored) ? { how: 'hash', stored: account.stored } : undefined;
  }

  #remember(guess: string, milliseconds: number): void {
    if (this.#remembered.size >= maximumRemembered) {
      for (const oldest of this.#remembered.keys()) {
        this.#remembered.delete(oldest);
        break;
      }
    }
    this.#remembered.set(guess, this.#now() + milliseconds);
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
