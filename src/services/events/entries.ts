import { randomBytes } from 'node:crypto';
import type { JournalChanges } from '../../database/changeset.ts';
import type { Position } from './event-id.ts';
import { NodeLives } from './node-lives.ts';
import type { Happening } from './view.ts';

export interface Entry {
  readonly position: Position;
  readonly happening: Happening;
  /** The memory that it takes, roughly, in bytes. */
  readonly weight: number;
}

/** What is kept to resume from: entries, and the memory that they take. */
const mostEntries = 10_000;
const mostMemory = 16 << 20;
/** The part of it that is in use after something was forgotten. */
const roomy = 0.9;

/** The latest of what has happened, numbered, in bounds. */
export class Entries {
  /** Of all nodes that were made since it began. */
  lives = new NodeLives();
  #list: Entry[] = [];
  #memory = 0;
  #era = '';
  #number = 0;

  /** The number of the latest. */
  get number(): number {
    return this.#number;
  }

  /** Where somebody is who has heard of all of them, and of change sets up to that one. */
  position(sequence: number): Position {
    return { sequence, era: this.#era, number: this.#number };
  }

  /** Numbers begin anew. */
  begin(): void {
    this.clear();
    this.#era = randomBytes(4).toString('hex');
    this.#number = 0;
  }

  clear(): void {
    this.lives = new NodeLives();
    this.#list = [];
    this.#memory = 0;
  }

  add(happening: Happening, sequence: number): void {
    const weight = happening.what === 'set' ? weightOf(happening.set.changes) : perEntry;
    if (happening.what === 'set') this.lives.note(happening.set);
    this.#number++;
    this.#list.push({ position: this.position(sequence), happening, weight });
    this.#memory += weight;
  }

  get isFull(): boolean {
    return this.#list.length > mostEntries || this.#memory > mostMemory;
  }

  /** Makes room for many at once; what comes after the one that everybody was told stays, up to twice the bounds. */
  forget(told: number): void {
    let gone = 0;
    while (gone < this.#list.length) {
      const { weight, position } = this.#list[gone]!;
      const left = this.#list.length - gone;
      if (position.number > told && left <= 2 * mostEntries && this.#memory <= 2 * mostMemory) break;
      if (left <= roomy * mostEntries && this.#memory <= roomy * mostMemory) break;
      this.#memory -= weight;
      gone++;
    }
    this.#list = this.#list.slice(gone);
  }

  /** Those after that number; if the first of them has not the next number, some were forgotten. */
  after(number: number): readonly Entry[] {
    return this.#list.slice(Math.max(0, number + 1 - this.#first));
  }

  /** Whether all after that place are here. */
  reaches({ era, number }: Position): boolean {
    return era === this.#era && number <= this.#number && number + 1 >= this.#first;
  }

  /** The number to go on from for somebody who has heard of change sets up to that one. */
  numberAt(sequence: number): number {
    const next = this.#list.find(({ position }) => position.sequence > sequence);
    return next ? next.position.number - 1 : this.#number;
  }

  get #first(): number {
    return this.#list[0]?.position.number ?? this.#number + 1;
  }
}

const perEntry = 300;
const perRow = 100;

function weightOf(changes: JournalChanges): number {
  let weight = perEntry;
  for (const table in changes) {
    for (const [, before, after] of changes[table]!) {
      weight += perRow;
      for (const column in before) weight += before[column]?.length ?? 0;
      for (const column in after) weight += after[column]?.length ?? 0;
    }
  }
  return weight;
}
