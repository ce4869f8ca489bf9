import { Fault } from '../core/errors.ts';
import { networkOf } from './addresses.ts';

export const throttleLimits = {
  /** Failures of one account from one network before each further guess has to wait. */
  freeFailures: 3,
  firstDelay: 250,
  longestDelay: 8_000,
  /** Different guesses of one pair that may stand in line, the one being checked included. */
  waitingGuesses: 4,
  /** A pair without failures for this long starts afresh. */
  forgetAfter: 5 * 60_000,
  networkFailures: 100,
  networkWindow: 60_000,
  maximumPairs: 20_000,
  maximumNetworks: 20_000,
};

interface Pair {
  failures: number;
  /** No guess is checked before this time. */
  notBefore: number;
  lastFailure: number;
  guesses: Map<string, Promise<unknown>>;
  tail: Promise<unknown>;
}

interface Network {
  windowStart: number;
  failures: number;
  underWay: number;
}

/** Slows down guessing: one guess at a time per pair of account and network, later and later, and so many failures per network. */
export class Throttle {
  readonly #now: () => number;
  readonly #pairs = new Map<string, Pair>();
  readonly #networks = new Map<string, Network>();
  /** Hears of every failure. */
  readonly #failed: (name: string, where: string) => void;

  constructor(now: () => number, failed: (name: string, where: string) => void = () => undefined) {
    this.#now = now;
    this.#failed = failed;
  }

  /** Counts a failure that another server has seen. */
  countElsewhere(name: string, where: string): void {
    const key = pairKey(name, where);
    this.#countFailure(key, this.#pair(key), where, this.#network(where));
  }

  /** Whether a password known to be right may pass at once. While guesses stand in line it may not: that would answer them early. */
  isFree(name: string, address: string): boolean {
    if (this.#pairs.size === 0 && this.#networks.size === 0) return true;
    const where = networkOf(address);
    this.#refuseIfFull(this.#networks.get(where));
    const pair = this.#pairs.get(pairKey(name, where));
    return pair === undefined || (pair.guesses.size === 0 && pair.notBefore <= this.#now());
  }

  /** Runs `check` in this pair's turn; undefined is a failed login. Equal guesses share one check, and what it throws does not count. */
  attempt<T extends object>(
    name: string,
    address: string,
    guess: string,
    check: () => Promise<T | undefined>,
  ): Promise<T> {
    const where = networkOf(address);
    const key = pairKey(name, where);
    const same = this.#pairs.get(key)?.guesses.get(guess);
    if (same) return same as Promise<T>;
    this.#refuseIfFull(this.#networks.get(where));
    const pair = this.#pair(key);
    if (pair.guesses.size >= throttleLimits.waitingGuesses) throw tooMany(pair.notBefore - this.#now());
    const network = this.#network(where);
    network.underWay++;
    const turn = pair.tail.then(async () => {
      try {
        await sleep(pair.notBefore - this.#now());
        const result = await check();
        if (result === undefined) {
          this.#countFailure(key, pair, where, network);
          this.#failed(name, where);
          throw new Fault('unauthenticated', 'Authentication failure');
        }
        return result;
      } finally {
        pair.guesses.delete(guess);
        network.underWay--;
        if (pair.guesses.size === 0 && pair.failures === 0) this.#pairs.delete(key);
        if (network.underWay === 0 && network.failures === 0) this.#networks.delete(where);
      }
    });
    pair.guesses.set(guess, turn);
    pair.tail = turn.catch(() => undefined);
    return turn;
  }

  #countFailure(key: string, pair: Pair, where: string, network: Network): void {
    const now = this.#now();
    const over = pair.failures + 1 - throttleLimits.freeFailures;
    pair.failures++;
    pair.lastFailure = now;
    if (over >= 0) pair.notBefore = now + Math.min(throttleLimits.firstDelay * 2 ** over, throttleLimits.longestDelay);
    if (now - network.windowStart >= throttleLimits.networkWindow) {
      network.windowStart = now;
      network.failures = 0;
    }
    network.failures++;
    moveToEnd(this.#pairs, key, pair);
    moveToEnd(this.#networks, where, network);
  }

  /** Guesses under way count as failures to come, so that sending many at once gains nothing. */
  #refuseIfFull(network: Network | undefined): void {
    if (network === undefined) return;
    const left = network.windowStart + throttleLimits.networkWindow - this.#now();
    const failures = left > 0 ? network.failures : 0;
    if (failures + network.underWay >= throttleLimits.networkFailures)
      throw tooMany(failures >= throttleLimits.networkFailures ? left : 0);
  }

  #pair(key: string): Pair {
    const now = this.#now();
    const existing = this.#pairs.get(key);
    if (existing) {
      if (existing.guesses.size === 0 && now - existing.lastFailure > throttleLimits.forgetAfter) existing.failures = 0;
      return existing;
    }
    const isOld = (pair: Pair) => now - pair.lastFailure > throttleLimits.forgetAfter;
    makeRoom(this.#pairs, throttleLimits.maximumPairs, (pair) => pair.guesses.size === 0, isOld);
    const pair: Pair = { failures: 0, notBefore: 0, lastFailure: now, guesses: new Map(), tail: Promise.resolve() };
    this.#pairs.set(key, pair);
    return pair;
  }

  #network(where: string): Network {
    const now = this.#now();
    const existing = this.#networks.get(where);
    if (existing) return existing;
    const isOld = (network: Network) => now - network.windowStart > throttleLimits.networkWindow;
    makeRoom(this.#networks, throttleLimits.maximumNetworks, (network) => network.underWay === 0, isOld);
    const network: Network = { windowStart: now, failures: 0, underWay: 0 };
    this.#networks.set(where, network);
    return network;
  }
}

function pairKey(name: string, where: string): string {
  return `${where} ${name}`;
}

function tooMany(wait: number): Fault {
  return new Fault('unavailable', 'Too many failed logins; wait before you try again.', {
    retryAfter: Math.max(1, Math.ceil(wait / 1000)),
  });
}

async function sleep(milliseconds: number): Promise<void> {
  if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function moveToEnd<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
}

/** Drops what is out of date from the front and, if that is not enough, the entry idle for longest; the front is the oldest. */
function makeRoom<V>(
  map: Map<string, V>,
  limit: number,
  isIdle: (value: V) => boolean,
  isOld: (value: V) => boolean,
): void {
  for (const [key, value] of map) {
    if (!isIdle(value) || !isOld(value)) break;
    map.delete(key);
  }
  if (map.size < limit) return;
  for (const [key, value] of map) {
    if (!isIdle(value)) continue;
    map.delete(key);
    return;
  }
  throw tooMany(0);
}
