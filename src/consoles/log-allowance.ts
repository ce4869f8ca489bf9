/** Milliseconds of work on logs: what there is at first, and what comes each second. */
interface Allowance {
  readonly most: number;
  readonly perSecond: number;
}

/** A machine at a serial line of 115,200 baud needs a few of these; nobody reads what takes more. */
const ofOne: Allowance = { most: 300, perSecond: 25 };
const ofAll: Allowance = { most: 10_000, perSecond: 500 };
/** What a console that was left out must have again: its log is to have long pieces and few gaps. */
const enoughAgain = 100;
/** Who has so much left has printed little lately, and is logged whatever the others print. */
const calm = 270;
/** What comes each second to one while all together print too much. */
const scarce = 2.5;

/** How long it takes to log output, as it was measured: a piece of bytes, a line, and characters that have to be escaped. */
export const costs = { piece: 0.003, line: 0.003, character: 0.000_03, escaped: 0.000_35 } as const;

class Budget {
  readonly #allowance: Allowance;
  left: number;
  #at: number;

  constructor(allowance: Allowance, now: number) {
    this.#allowance = allowance;
    this.left = allowance.most;
    this.#at = now;
  }

  refill(now: number, perSecond = this.#allowance.perSecond): void {
    this.left = Math.min(this.#allowance.most, this.left + ((now - this.#at) / 1_000) * perSecond);
    this.#at = now;
  }
}

/** What of one console may still be logged. */
export interface ConsoleAllowance {
  /** Asked before each piece. */
  readonly isSpent: boolean;
  spend(milliseconds: number): void;
}

/**
 * Bounds the work on logs. A machine prints as fast as it likes, and the shortest lines cost most: without a bound one virtual machine could
 * keep the server from everything else.
 */
export class LogAllowances {
  readonly #now: () => number;
  readonly #all: Budget;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#all = new Budget(ofAll, now());
  }

  forConsole(): ConsoleAllowance {
    const [now, all] = [this.#now, this.#all];
    const own = new Budget(ofOne, now());
    let isSpent = false;
    return {
      get isSpent() {
        const time = now();
        all.refill(time);
        own.refill(time, all.left > 0 ? ofOne.perSecond : scarce);
        const needed = all.left > 0 ? (isSpent ? enoughAgain : 0) : calm;
        isSpent = own.left <= needed;
        return isSpent;
      },
      spend(milliseconds) {
        own.left -= milliseconds;
        all.left -= milliseconds;
      },
    };
  }
}
