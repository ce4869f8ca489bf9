import { openSync, readSync } from 'node:fs';

/** What a thread has had of the processors since it began: milliseconds at work, milliseconds it waited for one, and how often it got one. */
export interface Scheduled {
  readonly ran: number;
  readonly waited: number;
  readonly turns: number;
}

const nothing: Scheduled = { ran: 0, waited: 0, turns: 0 };
/** Linux tells the same of each thread, in nanoseconds. */
const file = '/proc/thread-self/schedstat';
const text = Buffer.alloc(64);
let descriptor: number | undefined;

/** Of this thread; always nothing where the system does not tell. */
export function scheduled(): Scheduled {
  try {
    // It stays open: what it holds is written anew at each reading.
    descriptor ??= openSync(file, 'r');
    const length = readSync(descriptor, text, 0, text.length, 0);
    const [ran = 0, waited = 0, turns = 0] = text.toString('latin1', 0, length).split(' ').map(Number);
    return { ran: ran / 1e6, waited: waited / 1e6, turns };
  } catch {
    descriptor = -1;
    return nothing;
  }
}

/** Milliseconds after which what was seen counts for a third. */
const memory = 2_000;
/** Milliseconds of waiting for each turn from which on others keep the processors busy; on a machine with time to spare it is a fiftieth. */
const longWait = 1;
/** The most of the time that is told as lost: a machine may be busy for ever. */
const mostLost = 0.9;

/**
 * How much of the time this machine was too busy. While a thread sleeps nothing tells that it could not have worked, but whoever shares
 * the processors with it, as simulated devices do, gets no more of them than it does: so its own share is taken for that of all.
 */
export class Contention {
  readonly #scheduled: () => Scheduled;
  #before: Scheduled;
  #ran = 0;
  #waited = 0;
  #turns = 0;

  constructor(read: () => Scheduled = scheduled) {
    this.#scheduled = read;
    this.#before = read();
  }

  /** Milliseconds of the last `elapsed` ones, which must be those since it was asked before. */
  lost(elapsed: number): number {
    const [now, before] = [this.#scheduled(), this.#before];
    this.#before = now;
    const waited = Math.max(0, now.waited - before.waited);
    const kept = Math.exp(-elapsed / memory);
    this.#ran = kept * this.#ran + Math.max(0, now.ran - before.ran);
    this.#waited = kept * this.#waited + waited;
    this.#turns = kept * this.#turns + Math.max(0, now.turns - before.turns);
    const isContended = this.#waited > longWait * this.#turns;
    const others = isContended ? this.#waited / (this.#ran + this.#waited) : 0;
    return Math.min(mostLost * elapsed, Math.max(waited, others * elapsed));
  }
}
