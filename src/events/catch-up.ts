import { setTimeout as wait } from 'node:timers/promises';
import type { EventKind } from '../core/event-kinds.ts';
import type { ChangeSet } from '../database/database.ts';
import type { Store } from '../database/store.ts';
import {
  earlierTest,
  type Entries,
  gapText,
  lostAll,
  lostSome,
  NodeLives,
  type Position,
  textOf,
  textsOf,
} from './entries.ts';
import type { Listener, Sink } from './listener.ts';
import type { View } from './view.ts';

/** What has happened, and how far it is known. */
export interface Known {
  readonly store: Store;
  readonly entries: Entries;
  /** Of the latest change set among the entries. */
  readonly sequence: () => number;
  readonly counts: { gaps: number };
}

interface Newcomer {
  readonly view: View;
  readonly listener: Listener;
  readonly sink: Sink;
}

/** What the store does not know. */
const unstored: readonly EventKind[] = ['run', 'power', 'boot', 'notice', 'hardware'];
/** Entries that are sent in one go. */
const atOnce = 100;

/**
 * Sends somebody what has happened since, as fast as it is taken: from the entries, and what they no longer have from the store. `ready` is
 * called in the moment in which nothing is left to send, with the number of the last entry that was sent.
 */
export async function catchUp(
  known: Known,
  { view, listener, sink }: Newcomer,
  after: Position | undefined,
  ready: (number: number) => void,
): Promise<void> {
  const { store, entries, counts } = known;
  let wake = (): void => undefined;
  let isClosed = false;
  sink.onClose(() => {
    isClosed = true;
    wake();
  });
  sink.onDrain(() => wake());
  const isOver = (): boolean => isClosed || listener.isOver;
  const taken = async (): Promise<void> => {
    while (!isOver() && !listener.isIdle) await new Promise<void>((resolve) => (wake = resolve));
  };
  const write = (text: string): void => {
    if (text !== '') listener.push({ bytes: Buffer.from(text), holders: 0 });
  };
  const sendGap = (message: string): void => {
    counts.gaps++;
    write(gapText(message));
  };
  let number = entries.number;
  let at = known.sequence();
  if (after) {
    at = after.sequence;
    if (entries.reaches(after)) number = after.number;
    else await sendFromStore();
  }
  while (!isOver()) {
    const some = entries.after(number).slice(0, atOnce);
    if (some.length === 0 && number >= entries.number) return ready(number);
    if (some[0]?.position.number !== number + 1) {
      await sendFromStore();
      continue;
    }
    view.look(store.current);
    for (const bytes of textsOf(view, some, entries.lives)) {
      listener.push({ bytes, holders: 0 });
      // Many who come back at once and do not read would hold all of it.
      await taken();
      if (isOver()) return;
    }
    ({ number, sequence: at } = some.at(-1)!.position);
    await wait(0);
  }

  /** Sends what is no longer among the entries, and goes on where they begin. Runs, power states and notices are known there alone. */
  async function sendFromStore(): Promise<void> {
    const { kinds } = view.filter;
    if (at > known.sequence()) sendGap(lostAll);
    else if (unstored.some((kind) => kinds.includes(kind))) sendGap(lostSome);
    const lives = new NodeLives();
    if (view.isLimited) for await (const set of setsAfter(known, at)) if (set) lives.note(set);
    for await (const set of setsAfter(known, at)) {
      if (isOver()) return;
      if (set === undefined) {
        sendGap(lostAll);
        at = known.sequence();
      } else {
        at = set.sequence;
        view.look(store.current);
        // Numbers of another time lead nowhere, so that whoever comes back from there goes by the sequence again.
        const position = { sequence: at, era: '00000000', number: 0 };
        const isEarlier = earlierTest(view, at, lives, entries.lives);
        write(textOf(view.render({ what: 'set', time: undefined, set }, isEarlier), position));
      }
      await taken();
    }
    number = entries.numberAt(at);
  }
}

/** Change sets after the sequence up to where the others are; undefined: some are no longer known. */
async function* setsAfter(known: Known, from: number): AsyncGenerator<ChangeSet | undefined, void, undefined> {
  if (from >= known.sequence()) return;
  const enough = new AbortController();
  for await (const item of known.store.follow(from, enough.signal)) {
    if ('snapshot' in item) {
      yield undefined;
      return;
    }
    yield item;
    if (item.sequence >= known.sequence()) return;
  }
}
