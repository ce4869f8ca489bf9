/** Something that wants to be woken. The two numbers belong to the wheel. */
export interface Sleeper {
  due: number;
  /** The turn under which the wheel has it; Infinity if under none. */
  turn: number;
  awake(now: number): void;
}

const turnLength = 20;
const slots = 1024;
/** How long those that are due wait at most while packets come: somebody may never stop to send. */
const longestHold = 1_000;
/** A timer that comes later than this shows that this process had no time to listen. */
const tolerated = 100;

/**
 * One timer for all. A sleeper whose time moves later stays where it is and is looked at once in vain, so that the common case,
 * a wait that is answered long before its end, costs nothing. What came before a timer is read before anybody is woken.
 */
export class TimerWheel {
  readonly #slots: Sleeper[][] = Array.from({ length: slots }, () => []);
  /** In milliseconds. */
  readonly now: () => number;
  /** Whether those that are due should wait a little: what they wait for may have come and not been read yet. */
  readonly #busy: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #reading: NodeJS.Immediate | undefined;
  /** The turn the timer is set for, and the one up to which all is done. */
  #timerTurn = Number.POSITIVE_INFINITY;
  #done: number;
  #count = 0;
  /** Since when those that are due wait, and when it was last seen that packets wait. */
  #heldSince: number | undefined;
  #busyAt: number | undefined;
  #lag = 0;
  /** The time up to which the lag is counted. */
  #countedTo = Number.NEGATIVE_INFINITY;

  constructor(now: () => number, busy: () => boolean) {
    this.now = now;
    this.#busy = busy;
    this.#done = Math.floor(now() / turnLength);
  }

  /** Milliseconds, from the beginning on, in which this process could not listen: its event loop was late, or packets waited to be read. */
  readonly lag = (): number => this.#lag;

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
    const now = this.now();
    const due = Math.max(now, turn * turnLength);
    this.#timer = setTimeout(() => this.#fire(due), due - now);
  }

  /** Sockets are read after timers and before immediates. */
  #fire(due: number): void {
    this.#countLag(due + tolerated, this.now());
    clearImmediate(this.#reading);
    this.#reading = setImmediate(() => this.#run());
  }

  #countLag(since: number, now: number): void {
    const from = Math.max(since, this.#countedTo);
    if (from >= now) return;
    this.#lag += now - from;
    this.#countedTo = now;
  }

  #run(): void {
    const now = this.now();
    const isHeld = this.#holds(now);
    const last = Math.min(Math.floor(now / turnLength), this.#done + slots - 1);
    if (last <= this.#done || isHeld) {
      this.#schedule(Math.max(last, this.#done) + 1);
      return;
    }
    this.#timerTurn = Number.POSITIVE_INFINITY;
    // One by one: who is woken may set itself again, and must not get into a slot that is still to be emptied for this round.
    while (this.#done < last) this.#turnOver(++this.#done, now);
    if (this.#count === 0) return;
    const next = this.#nextTurn();
    if (next < this.#timerTurn) this.#schedule(next);
  }

  #holds(now: number): boolean {
    if (this.#busy()) {
      this.#countLag(this.#busyAt ?? now, now);
      this.#busyAt = now;
      this.#heldSince ??= now;
      if (now - this.#heldSince < longestHold) return true;
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
