/** Something that wants to be woken. The two numbers belong to the wheel. */
export interface Sleeper {
  due: number;
  /** The turn under which the wheel has it; Infinity if under none. */
  turn: number;
  awake(now: number): void;
}

const turnLength = 20;
const slots = 1024;
/** How long those that are due wait at most while packets come, by the clock of the wheel: somebody may never stop to send. */
const longestHold = 250;
/** A timer that comes later than this shows that this process had no time to listen; what is beyond it did not pass for those who wait. */
const tolerated = 100;
/** The part of the time that passes while packets wait to be read: less than all, since they are late by us, and more than none. */
const passes = 0.25;
/** How often it is looked whether the machine is too busy, in milliseconds. */
const lookEvery = 20;

/**
 * One timer for all. A sleeper whose time moves later stays where it is and is looked at once in vain, so that the common case,
 * a wait that is answered long before its end, costs nothing.
 *
 * Its clock tells how long this process could have heard an answer: it is slow while the processors are busy with others, and stands while
 * this thread is too busy to listen. What came meanwhile is read before anybody is woken.
 */
export class Wheel {
  readonly #slots: Sleeper[][] = Array.from({ length: slots }, () => []);
  /** Milliseconds as they pass for everybody. */
  readonly time: () => number;
  /** Whether those that are due should wait a little: what they wait for may have come and not been read yet. */
  readonly #busy: () => boolean;
  /** How much of the time since it was last asked the machine was too busy. */
  readonly #lost: (elapsed: number) => number;
  #timer: NodeJS.Timeout | undefined;
  #reading: NodeJS.Immediate | undefined;
  /** The turn the timer is set for, and the one up to which all is done. */
  #timerTurn = Number.POSITIVE_INFINITY;
  #done: number;
  #count = 0;
  /** Since when those that are due wait, by the clock of this wheel. */
  #heldSince: number | undefined;
  /** When it was last seen that packets wait, by the clock of this wheel. */
  #busyAt: number | undefined;
  /** Time in which this process was too busy to listen. */
  #missed = 0;
  #lookedAt: number;

  constructor(time: () => number, busy: () => boolean, lost: (elapsed: number) => number = () => 0) {
    this.time = time;
    this.#busy = busy;
    this.#lost = lost;
    this.#lookedAt = time();
    this.#done = Math.floor(this.#lookedAt / turnLength);
  }

  /** Milliseconds. It falls back when it turns out that this process could not listen for long. */
  readonly now = (): number => {
    const time = this.time();
    if (time - this.#lookedAt >= lookEvery) this.#look(time);
    return time - this.#missed;
  };

  set(sleeper: Sleeper, due: number): void {
    sleeper.due = due;
    if (due === Number.POSITIVE_INFINITY) return;
    const turn = Math.max(Math.ceil(due / turnLength), this.#done + 1);
    if (turn < sleeper.turn) this.#insert(sleeper, turn);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#reading);
    for (const slot of this.#slots) slot.length = 0;
    this.#count = 0;
  }

  #insert(sleeper: Sleeper, turn: number): void {
    // Farther than a round is put at its end and looked at again then.
    const placed = Math.min(turn, this.#done + slots - 1);
    sleeper.turn = placed;
    this.#slots[placed % slots]?.push(sleeper);
    this.#count++;
    if (placed < this.#timerTurn) this.#schedule(placed);
  }

  #schedule(turn: number): void {
    clearTimeout(this.#timer);
    this.#timerTurn = turn;
    const time = this.time();
    const missed = this.#missed;
    const due = Math.max(time, turn * turnLength + missed);
    this.#timer = setTimeout(() => this.#fire(due, missed), due - time);
  }

  #look(time: number): void {
    this.#missed += this.#lost(time - this.#lookedAt);
    this.#lookedAt = time;
  }

  /** Sockets are read after timers and before immediates. `missed`: what was known to be missed when the timer was set. */
  #fire(due: number, missed: number): void {
    const time = this.time();
    this.#look(time);
    this.#missed += Math.max(0, time - due - tolerated - (this.#missed - missed));
    clearImmediate(this.#reading);
    this.#reading = setImmediate(() => this.#run());
  }

  #run(): void {
    const isHeld = this.#holds();
    const now = this.now();
    const last = Math.min(Math.floor(now / turnLength), this.#done + slots - 1);
    if (last <= this.#done || isHeld) {
      this.#schedule(Math.max(last, this.#done) + 1);
      return;
    }
    this.#timerTurn = Number.POSITIVE_INFINITY;
    // One by one: who is woken may set itself anew, and must not get into a slot that is still to be emptied for this round.
    while (this.#done < last) this.#turnOver(++this.#done, now);
    if (this.#count === 0) return;
    const next = this.#nextTurn();
    if (next < this.#timerTurn) this.#schedule(next);
  }

  #holds(): boolean {
    if (this.#busy()) {
      const now = this.now();
      this.#missed += (1 - passes) * Math.max(0, now - (this.#busyAt ?? now));
      this.#busyAt = this.now();
      this.#heldSince ??= this.#busyAt;
      if (this.#busyAt - this.#heldSince < longestHold) return true;
    }
    this.#heldSince = this.#busyAt = undefined;
    return false;
  }

  #turnOver(turn: number, now: number): void {
    const slot = this.#slots[turn % slots];
    if (slot === undefined || slot.length === 0) return;
    const sleepers = slot.splice(0);
    this.#count -= sleepers.length;
    for (const sleeper of sleepers) {
      // One that was moved to an earlier turn left this entry behind.
      if (sleeper.turn !== turn) continue;
      sleeper.turn = Number.POSITIVE_INFINITY;
      if (sleeper.due <= now) sleeper.awake(now);
      else this.set(sleeper, sleeper.due);
    }
  }

  #nextTurn(): number {
    let turn = this.#done + 1;
    while (this.#slots[turn % slots]?.length === 0 && turn < this.#done + slots) turn++;
    return turn;
  }
}
