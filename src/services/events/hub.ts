import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { JournalChanges } from '../../database/changeset.ts';
import type { ChangeSet } from '../../database/database.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { Store } from '../../database/store.ts';
import { policyOf } from '../../objects/policy.ts';
import { eventId, parseEventId, type Position } from './event-id.ts';
import type { RunNews } from '../../core/event-kinds.ts';
import { isStillKnown, type Shown } from './known-caller.ts';
import { Held, Listener, type Sink } from './listener.ts';
import { NodeLives } from './node-lives.ts';
import { type Happening, type Test, type Told, View, type Wish } from './view.ts';

interface Entry {
  readonly position: Position;
  readonly happening: Happening;
  readonly weight: number;
}

/** Who listens: its credentials, and where to. */
export interface Audience extends Shown {
  readonly wish: Wish;
  /** The id of the last event that it has. */
  readonly after: string | undefined;
  /** Seconds after which it has enough. */
  readonly seconds: number | undefined;
}

interface Open {
  readonly audience: Audience;
  readonly listener: Listener;
  readonly shared: SharedView;
  /** The number of the last entry that it was told before it listened with the others. */
  from: number;
}

/** Somebody in this process who listens. */
interface Attached {
  readonly view: View;
  at: number;
  take(told: readonly Told[]): void;
}

interface SharedView {
  readonly view: View;
  readonly open: Set<Open>;
  /** Also those that are still told what has happened before. */
  readonly all: Set<Open>;
  /** The number of the last entry that it has been told. */
  at: number;
}

/** What is kept to resume from: entries, and the memory that they take, roughly, in bytes. */
const mostEntries = 10_000;
const mostMemory = 16 << 20;
/** Milliseconds between signs of life. */
const heartbeat = 15_000;
/** Milliseconds that it is followed on though nobody listens: who was cut off comes back soon. */
const lingering = 300_000;
/** Milliseconds that power states and progress are gathered for. */
const gatherDelay = 200;
/** The part of the time that may go into views which differ for their callers: each looks at rights and ranges anew. */
const pacedShare = 0.1;
/** Entries that one who comes back is told in one go. */
const replayed = 100;
/** Bytes that all slow listeners may hold together. */
const mostHeld = 64 << 20;

/** Tells what happens to all who listen. What can be told again to those who were cut off is kept in bounds. */
export class EventHub {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #views = new Map<string, SharedView>();
  readonly #attached = new Set<Attached>();
  readonly #held = new Held();
  #entries: Entry[] = [];
  #lives = new NodeLives();
  #memory = 0;
  #era = '';
  #number = 0;
  #sequence = 0;
  #following: AbortController | undefined;
  #isScheduled = false;
  #isPacing = false;
  #heart: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #credentials: readonly unknown[] = [];
  /** Nodes by what their power is, not told yet. */
  #power = new Map<string, Set<string>>();
  /** The latest of runs whose progress is not told yet. */
  #progress = new Map<string, () => void>();
  #gathering: NodeJS.Timeout | undefined;
  #isClosed = false;
  readonly #listening = new Set<Promise<void>>();
  /** For whoever counts. */
  readonly counts = { told: 0, dropped: 0, gaps: 0 };

  constructor(store: Store, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  /** Whether anybody would hear. */
  get isHeard(): boolean {
    return this.#following !== undefined;
  }

  get listeners(): number {
    let count = 0;
    for (const { open } of this.#views.values()) count += open.size;
    return count;
  }

  get heldBytes(): number {
    return this.#held.bytes;
  }

  /** Notes what a node's power is. */
  power(node: string, power: string): void {
    if (!this.isHeard) return;
    for (const nodes of this.#power.values()) nodes.delete(node);
    let nodes = this.#power.get(power);
    if (!nodes) this.#power.set(power, (nodes = new Set()));
    nodes.add(node);
    this.#gather();
  }

  run(news: RunNews, targets: readonly string[] | undefined): void {
    if (!this.isHeard) return;
    this.#progress.delete(news.run);
    this.#flushGathered();
    this.#add({ what: 'run', time: Date.now(), news, targets });
  }

  /** Progress comes often; the latest of a while is told. */
  progress(run: string, news: () => RunNews, targets: readonly string[] | undefined): void {
    if (!this.isHeard) return;
    if (!this.#progress.has(run))
      this.#progress.set(run, () => this.#add({ what: 'run', time: Date.now(), news: news(), targets }));
    this.#gather();
  }

  /** Tells until the listener leaves or has enough. What cannot be told is refused before anything is. */
  listen(audience: Audience, open: () => Sink): Promise<void> {
    const after = audience.after === undefined ? undefined : parseEventId(audience.after);
    if (this.#isClosed)
      throw new Fault('unavailable', 'muster is being stopped; try again shortly.', { retryAfter: 5 });
    this.#start();
    const sink = open();
    const listener = new Listener(sink, this.#held);
    const ended = new Promise<void>((resolve) => {
      const entry: Open = { audience, listener, shared: this.#shared(audience.wish), from: 0 };
      entry.shared.all.add(entry);
      const over = (): void => {
        clearTimeout(enough);
        listener.forget();
        this.#leave(entry);
        resolve();
      };
      const enough =
        audience.seconds === undefined
          ? undefined
          : setTimeout(() => listener.end(Buffer.alloc(0)), audience.seconds * 1_000).unref();
      sink.onClose(over);
      sink.write(Buffer.from('retry: 2000\n\n'));
      void this.#catchUp(entry, after, sink).catch((error: unknown) => {
        this.#log.error({ err: error }, 'events could not be told');
        listener.end(said('dropped', 'Something went wrong inside muster; connect again.'));
      });
    }).finally(() => this.#listening.delete(ended));
    this.#listening.add(ended);
    return ended;
  }

  /** Tells somebody in this process from now on; returns what ends that. */
  attach(wish: Pick<Wish, 'kinds' | 'range'>, take: (told: readonly Told[]) => void): () => void {
    this.#start();
    const own = { ...wish, user: '', addresses: [], command: 'events', line: '', ranges: {}, isOwn: true };
    const attached = { view: new View(own, this.#store.current), at: this.#number, take };
    this.#attached.add(attached);
    return () => {
      this.#attached.delete(attached);
      this.#lingerOrGoOn();
    };
  }

  /** Resolves when all who listen have heard of it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { all } of this.#views.values())
      for (const { listener } of all) listener.end(said('dropped', 'muster is being stopped; connect again.'));
    this.#stop();
    await Promise.all(this.#listening);
  }

  #shared(wish: Wish): SharedView {
    const key = View.key(wish, this.#store.current);
    let shared = this.#views.get(key);
    if (!shared) {
      shared = { view: new View(wish, this.#store.current), open: new Set(), all: new Set(), at: this.#number };
      this.#views.set(key, shared);
    }
    return shared;
  }

  #leave(entry: Open): void {
    entry.shared.open.delete(entry);
    entry.shared.all.delete(entry);
    for (const [key, shared] of this.#views)
      if (shared === entry.shared && shared.all.size === 0) this.#views.delete(key);
    this.#lingerOrGoOn();
  }

  #lingerOrGoOn(): void {
    if (this.#views.size + this.#attached.size === 0) this.#idle ??= setTimeout(() => this.#stop(), lingering).unref();
  }

  #start(): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    if (this.#following || this.#isClosed) return;
    const { current } = this.#store;
    this.#following = new AbortController();
    this.#era = randomBytes(4).toString('hex');
    this.#number = 0;
    this.#sequence = current.sequence;
    this.#entries = [];
    this.#lives = new NodeLives();
    this.#memory = 0;
    this.#credentials = credentialsIn(current);
    this.#heart = setInterval(() => this.#beat(), heartbeat).unref();
    void this.#follow(this.#following.signal);
  }

  #stop(): void {
    this.#following?.abort();
    this.#following = undefined;
    clearInterval(this.#heart);
    clearTimeout(this.#idle);
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    this.#idle = undefined;
    this.#entries = [];
    this.#power.clear();
    this.#progress.clear();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const told of this.#store.follow(this.#sequence, signal)) {
          if ('snapshot' in told) {
            this.#sequence = told.snapshot.sequence;
            this.counts.gaps++;
            this.#add({ what: 'gap', time: undefined, message: lostAll });
          } else {
            this.#sequence = told.sequence;
            this.#lives.note(told);
            this.#add({ what: 'set', time: Date.now(), set: told });
          }
        }
      } catch (error) {
        this.#log.error({ err: error }, 'changes could not be followed for those who listen to events');
        await wait(1_000, undefined, { ref: false });
      }
    }
  }

  #add(happening: Happening): void {
    const weight = happening.what === 'set' ? weightOf(happening.set.changes) : perEntry;
    const position = { sequence: this.#sequence, era: this.#era, number: ++this.#number };
    this.#entries.push({ position, happening, weight });
    this.#memory += weight;
    if (this.#entries.length > mostEntries || this.#memory > mostMemory) this.#forget();
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#safely(() => this.#deliver()));
  }

  /** Makes room for many at once; what is not told yet stays. */
  #forget(): void {
    let told = this.#number;
    for (const { at } of this.#views.values()) told = Math.min(told, at);
    let gone = 0;
    while (gone < this.#entries.length) {
      const { weight, position } = this.#entries[gone]!;
      if (position.number > told && this.#entries.length - gone <= 2 * mostEntries && this.#memory <= 2 * mostMemory)
        break;
      if (this.#entries.length - gone <= 0.9 * mostEntries && this.#memory <= 0.9 * mostMemory) break;
      this.#memory -= weight;
      gone++;
    }
    this.#entries = this.#entries.slice(gone);
  }

  #after(number: number): readonly Entry[] {
    const first = this.#entries[0]?.position.number ?? this.#number + 1;
    return this.#entries.slice(Math.max(0, number + 1 - first));
  }

  #deliver(): void {
    this.#isScheduled = false;
    const { current } = this.#store;
    this.#checkRights(current);
    for (const shared of this.#views.values()) if (shared.view.isWhole) this.#deliverTo(shared, current);
    for (const attached of this.#attached) {
      const entries = this.#after(attached.at);
      attached.at = this.#number;
      attached.view.look(current);
      const told = entries.flatMap(({ happening }) => attached.view.tell(happening));
      if (told.length > 0) attached.take(told);
    }
    if (!this.#isPacing) void this.#pace();
  }

  #safely(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#log.error({ err: error }, 'events could not be told');
    }
  }

  /** Views that differ for their callers are made one after the other, as fast as their share of the time lets them. */
  async #pace(): Promise<void> {
    this.#isPacing = true;
    for (let isMore = true; isMore; ) {
      isMore = false;
      for (const shared of this.#views.values()) {
        if (shared.open.size === 0) shared.at = this.#number;
        if (shared.view.isWhole || shared.at === this.#number) continue;
        isMore = true;
        const began = performance.now();
        this.#safely(() => this.#deliverTo(shared, this.#store.current));
        await wait((performance.now() - began) * (1 / pacedShare - 1), undefined, { ref: false });
      }
    }
    this.#isPacing = false;
  }

  #deliverTo(shared: SharedView, current: Snapshot): void {
    const { at, view, open: listeners } = shared;
    const entries = this.#after(at);
    shared.at = this.#number;
    if (entries.length === 0 || listeners.size === 0) return;
    view.look(current);
    if (entries[0]!.position.number > at + 1) this.#tellGap(listeners);
    for (const bytes of textsOf(view, entries, this.#lives)) {
      const chunk = { bytes, holders: 0 };
      for (const { listener, from } of listeners) if (from <= at) listener.push(chunk);
    }
    for (const { listener, from } of listeners) {
      if (from <= at) continue;
      const missing = entries.filter(({ position }) => position.number > from);
      for (const bytes of textsOf(view, missing, this.#lives)) listener.push({ bytes, holders: 0 });
    }
    this.counts.told += entries.length * shared.open.size;
    for (const open of shared.open) if (open.listener.isTooSlow) this.#drop(open);
    while (this.#held.bytes > mostHeld && this.#dropSlowest());
  }

  /** They are so many that what differs for callers could not be made for these before it had to be forgotten. */
  #tellGap(listeners: Iterable<Open>): void {
    const chunk = { bytes: Buffer.from(gapText(lostAll)), holders: 0 };
    this.counts.gaps++;
    for (const { listener } of listeners) listener.push(chunk);
  }

  #drop(open: Open): void {
    this.counts.dropped++;
    const behind = open.listener.behind;
    open.listener.end(
      said(
        'dropped',
        `This connection was ${behind} bytes behind what happens; connect again with the header Last-Event-ID to go on from the last event you have.`,
      ),
    );
    this.#leave(open);
  }

  #dropSlowest(): boolean {
    let slowest: Open | undefined;
    for (const { open } of this.#views.values())
      for (const each of open) if (each.listener.behind > (slowest?.listener.behind ?? 0)) slowest = each;
    if (slowest) this.#drop(slowest);
    return slowest !== undefined;
  }

  /** Tells what has happened since, then what happens. */
  async #catchUp(open: Open, after: Position | undefined, sink: Sink): Promise<void> {
    const { listener, shared } = open;
    const write = (text: string): void => {
      if (text !== '') listener.push({ bytes: Buffer.from(text), holders: 0 });
    };
    let isClosed = false;
    let wake = (): void => undefined;
    sink.onClose(() => {
      isClosed = true;
      wake();
    });
    sink.onDrain(() => wake());
    const taken = async (): Promise<void> => {
      while (!isClosed && !listener.isIdle) await new Promise<void>((resolve) => (wake = resolve));
    };
    const { view } = shared;
    let number = this.#number;
    let { sequence: at } = this.#position;
    /** Tells from the store what is no longer among the entries, and goes on where they begin. */
    const tellFromStore = async (): Promise<void> => {
      for (const gap of this.#gapsAfter(at, view)) write(gap);
      const lives = new NodeLives();
      if (view.isLimited) for await (const told of this.#sets(at)) if (told) lives.note(told);
      for await (const told of this.#sets(at)) {
        if (isClosed || !shared.all.has(open)) return;
        if (told === undefined) {
          this.counts.gaps++;
          write(gapText(lostAll));
          at = this.#sequence;
        } else {
          at = told.sequence;
          view.look(this.#store.current);
          // Numbers of another time lead nowhere, so that whoever comes back from there goes by the sequence again.
          const position = { sequence: at, era: '00000000', number: 0 };
          const happening = { what: 'set', time: undefined, set: told } as const;
          write(textOf(view.tell(happening, earlierTest(view, at, lives, this.#lives)), position));
        }
        await taken();
      }
      const next = this.#entries.find(({ position }) => position.sequence > at);
      number = next ? next.position.number - 1 : this.#number;
    };
    if (after) {
      at = after.sequence;
      if (this.#reaches(after)) number = after.number;
      else await tellFromStore();
    }
    for (;;) {
      if (isClosed || !shared.all.has(open)) return;
      const entries = this.#after(number);
      if (entries.length === 0 && number >= this.#number) break;
      if (entries.length === 0 || entries[0]!.position.number > number + 1) {
        await tellFromStore();
        continue;
      }
      const some = entries.slice(0, replayed);
      view.look(this.#store.current);
      for (const bytes of textsOf(view, some, this.#lives)) {
        listener.push({ bytes, holders: 0 });
        // Many who come back at once and do not read would hold all of it.
        await taken();
        if (isClosed || !shared.all.has(open)) return;
      }
      ({ number, sequence: at } = some.at(-1)!.position);
      await wait(0);
    }
    // Its rights may have ended meanwhile.
    if (!shared.all.has(open)) return;
    if (shared.open.size === 0) shared.at = number;
    const ready = { kind: 'ready', time: new Date().toISOString(), revision: this.#store.current.revision };
    write(block('ready', JSON.stringify(ready), this.#position));
    open.from = number;
    shared.open.add(open);
  }

  /** What is said to whoever is told the rest from the store. */
  #gapsAfter(sequence: number, { wish: { kinds } }: View): string[] {
    const isAll = sequence > this.#sequence;
    if (!isAll && !kinds.includes('run') && !kinds.includes('power')) return [];
    this.counts.gaps++;
    return [gapText(isAll ? lostAll : lostSome)];
  }

  get #position(): Position {
    return { sequence: this.#sequence, era: this.#era, number: this.#number };
  }

  #reaches({ era, number }: Position): boolean {
    return (
      era === this.#era &&
      number <= this.#number &&
      number + 1 >= (this.#entries[0]?.position.number ?? this.#number + 1)
    );
  }

  /** Change sets after the sequence up to where the others are; undefined: some are no longer known. */
  async *#sets(from: number): AsyncGenerator<ChangeSet | undefined, void, undefined> {
    if (from >= this.#sequence) return;
    const enough = new AbortController();
    for await (const told of this.#store.follow(from, enough.signal)) {
      if ('snapshot' in told) {
        yield undefined;
        return;
      }
      yield told;
      if (told.sequence >= this.#sequence) return;
    }
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => this.#flushGathered(), gatherDelay).unref();
  }

  #flushGathered(): void {
    clearTimeout(this.#gathering);
    this.#gathering = undefined;
    const [power, progress] = [this.#power, this.#progress];
    this.#power = new Map();
    this.#progress = new Map();
    for (const [state, nodes] of power)
      if (nodes.size > 0) this.#add({ what: 'power', time: Date.now(), nodes: [...nodes], power: state });
    for (const tell of progress.values()) tell();
  }

  /** Those who may no longer listen, or may hear something else than before, are told so. */
  #checkRights(current: Snapshot, isTime = false): void {
    const credentials = credentialsIn(current);
    if (!isTime && credentials.every((rows, i) => rows === this.#credentials[i])) return;
    this.#credentials = credentials;
    for (const [key, { view, all }] of this.#views) {
      const { wish } = view;
      const { user, addresses, command } = wish;
      const policy = policyOf(current);
      const isAllowed =
        policy.alwaysAllows(user, command) || policy.couldAllow({ user, addresses, command, now: new Date() });
      const isOther = View.key(wish, current) !== key || View.isWhole(wish, current) !== view.isWhole;
      for (const each of all) {
        const isKnown = isStillKnown(current, each.audience);
        if (isAllowed && isKnown && !isOther && View.key(each.audience.wish, current) === key) continue;
        const why = isKnown
          ? 'What you may hear has changed; connect again.'
          : 'Your credentials have ended; log in again.';
        each.listener.end(said('dropped', why));
        this.#leave(each);
      }
    }
  }

  #beat(): void {
    this.#checkRights(this.#store.current, true);
    const chunk = { bytes: Buffer.from(`: alive\nid: ${eventId(this.#position)}\n\n`), holders: 0 };
    for (const { open, at } of this.#views.values())
      if (at === this.#number) for (const { listener } of open) if (listener.isIdle) listener.push(chunk);
  }
}

const perEntry = 300;
const perRow = 100;

/** How much memory a change set takes, roughly, in bytes. */
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

/** The tables that decide who may listen, as they are. */
const credentialsIn = (snapshot: Snapshot): readonly unknown[] =>
  ['token', 'passwd', 'policy'].map((table) => snapshot.rows(table));

const lostSome =
  'muster was started anew or it was too long ago: runs and power states since your last event are not known. Changes and status follow.';
const lostAll =
  'What happened since your last event is no longer known as a whole. Read anew what you keep; events go on from here.';

const block = (kind: string, data: string, position?: Position): string =>
  `${position ? `id: ${eventId(position)}\n` : ''}event: ${kind}\ndata: ${data}\n\n`;

const gapText = (message: string): string => block('gap', JSON.stringify({ kind: 'gap', message }));
const said = (kind: string, message: string): Buffer => Buffer.from(block(kind, JSON.stringify({ kind, message })));

/** Only the last event of what happened together has an id: who is cut off in between is told all of it again. */
const textOf = (told: readonly Told[], position: Position): string =>
  told.map(({ kind, data }, i) => block(kind, data, i === told.length - 1 ? position : undefined)).join('');

/** Characters that are sent in one go. */
const chunkSize = 65_536;

/** Of which names is not told what happened then: of those that are others' today. */
const earlierTest = (view: View, sequence: number, ...lives: readonly NodeLives[]): Test | undefined =>
  view.isLimited ? (name) => lives.some((each) => each.wasOther(name, sequence)) : undefined;

function* textsOf(view: View, entries: readonly Entry[], lives: NodeLives): Iterable<Buffer> {
  let text = '';
  for (const { happening, position } of entries) {
    text += textOf(view.tell(happening, earlierTest(view, position.sequence, lives)), position);
    if (text.length < chunkSize) continue;
    yield Buffer.from(text);
    text = '';
  }
  if (text !== '') yield Buffer.from(text);
}
