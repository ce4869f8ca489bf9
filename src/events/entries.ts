import { randomBytes } from 'node:crypto';
import { Fault } from '../core/errors.ts';
import type { JournalChanges } from '../database/changeset.ts';
import type { ChangeSet } from '../database/database.ts';
import type { HubEvent, Test, EventData, View } from './view.ts';

/** Where a listener is: what it has heard of the store, and of this process, which alone has numbered runs and power. */
export interface Position {
  /** Of the last change set. */
  readonly sequence: number;
  /** Which numbers are meant: they begin again when nobody has listened for a while. */
  readonly era: string;
  readonly number: number;
}

export const eventId = ({ sequence, era, number }: Position): string => `${sequence}.${era}.${number}`;

export function parseEventId(text: string): Position {
  const [, sequence, era, number] = /^(\d{1,15})\.([0-9a-f]{8})\.(\d{1,15})$/.exec(text) ?? [];
  if (era === undefined)
    throw new Fault(
      'malformed',
      'The header Last-Event-ID is not the id of an event of muster; leave it out to get events from now on.',
    );
  return { sequence: Number(sequence), era, number: Number(number) };
}

/** When nodes were made: one that had the same name before was another. */
export class NodeLives {
  readonly #made = new Map<string, number>();

  note({ changes, sequence }: ChangeSet): void {
    for (const [node, before, after] of changes['nodelist'] ?? []) {
      if (before === null) this.#made.set(node, sequence);
      else if (after === null) this.#made.delete(node);
    }
  }

  /** Whether what had the name then is not what has it now. */
  wasOther(name: string, sequence: number): boolean {
    return (this.#made.get(name) ?? 0) > sequence;
  }
}

interface Entry {
  readonly position: Position;
  readonly event: HubEvent;
  /** The memory that it takes, roughly, in bytes. */
  readonly weight: number;
}

/** What is kept to resume from: entries, and the memory that they take. */
const mostEntries = 10_000;
const mostMemory = 16 << 20;
/** The part of it that is in use after something was forgotten. */
const keptShare = 0.9;

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

  /** Numbers begin again. */
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

  add(event: HubEvent, sequence: number): void {
    const weight = event.what === 'set' ? weightOf(event.set.changes) : perEntry;
    if (event.what === 'set') this.lives.note(event.set);
    this.#number++;
    this.#list.push({ position: this.position(sequence), event, weight });
    this.#memory += weight;
  }

  get isFull(): boolean {
    return this.#list.length > mostEntries || this.#memory > mostMemory;
  }

  /** Forgets many at once; what comes after the one that everybody has got stays, up to twice the bounds. */
  forget(sent: number): void {
    let gone = 0;
    while (gone < this.#list.length) {
      const { weight, position } = this.#list[gone]!;
      const left = this.#list.length - gone;
      if (position.number > sent && left <= 2 * mostEntries && this.#memory <= 2 * mostMemory) break;
      if (left <= keptShare * mostEntries && this.#memory <= keptShare * mostMemory) break;
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

export const lostSome =
  'muster was restarted, you reach a different server now, or your last event was too long ago: runs, power states and notices since then are lost, and events of hardware. Changes and status follow.';
export const lostAll =
  'Some of what happened since your last event is no longer known. Read again what you keep a copy of; events go on from here.';
export const wentWrong = 'Something went wrong inside muster; connect again.';

export const block = (kind: string, data: string, position?: Position): string =>
  `${position ? `id: ${eventId(position)}\n` : ''}event: ${kind}\ndata: ${data}\n\n`;

export const gapData = (message: string): string => JSON.stringify({ kind: 'gap', message });
export const gapText = (message: string): string => block('gap', gapData(message));

/** The last that somebody gets. */
export const dropText = (message: string): Buffer =>
  Buffer.from(block('dropped', JSON.stringify({ kind: 'dropped', message })));

/** Only the last event of what happened together has an id: who is cut off in between gets all of it again. */
export const textOf = (events: readonly EventData[], position: Position): string =>
  events.map(({ kind, data }, i) => block(kind, data, i === events.length - 1 ? position : undefined)).join('');

/** Characters that are sent in one go. */
const chunkSize = 65_536;

/** Of which names what happened then is not sent: of those that are others' today. */
export const earlierTest = (view: View, sequence: number, ...lives: readonly NodeLives[]): Test | undefined =>
  view.isLimited ? (name) => lives.some((each) => each.wasOther(name, sequence)) : undefined;

export function* textsOf(view: View, entries: readonly Entry[], lives: NodeLives): Iterable<Buffer> {
  let text = '';
  for (const { event, position } of entries) {
    text += textOf(view.render(event, earlierTest(view, position.sequence, lives)), position);
    if (text.length < chunkSize) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}
