import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../core/errors.ts';
import type { HardwareNews, RunNews, RunOwner } from '../core/event-kinds.ts';
import type { Logger } from '../core/log.ts';
import type { News } from '../database/news.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { policyOf } from '../objects/policy.ts';
import { catchUp, type Known } from './catch-up.ts';
import { block, dropText, Entries, eventId, gapText, lostAll, parseEventId, textsOf, wentWrong } from './entries.ts';
import {
  type Attached,
  type Audience,
  Gathering,
  Held,
  Listener,
  type Open,
  type SharedView,
  type Sink,
} from './listener.ts';
import { type SharedEvents, shareEvents } from './shared-events.ts';
import { type EventData, type EventFilter, type HubEvent, isStillKnown, View } from './view.ts';

/** Milliseconds between signs of life. */
const heartbeat = 15_000;
/** Milliseconds that changes are still followed after the last listener has left: who was cut off comes back soon. */
const idleTimeout = 300_000;
/** The part of the time that may go into views which differ for their callers: each looks at rights and ranges again. */
const pacedShare = 0.1;
/** Bytes that all slow listeners may hold together. */
const mostHeld = 64 << 20;

/** Sends what happens to all who listen. What can be sent again to those who were cut off is kept in bounds. */
export class EventHub {
  readonly #store: Store;
  readonly #log: Logger;
  readonly #elsewhere: SharedEvents | undefined;
  readonly #views = new Map<string, SharedView>();
  readonly #attached = new Set<Attached>();
  readonly #held = new Held();
  readonly #entries = new Entries();
  readonly #gathering = new Gathering((event) => this.#add(event));
  #sequence = 0;
  #following: AbortController | undefined;
  #isScheduled = false;
  #isPacing = false;
  #heart: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #credentials: readonly unknown[] = [];
  #isClosed = false;
  readonly #listening = new Set<Promise<void>>();
  /** For who listens at this server, of what every server notices by itself or has heard from another. */
  readonly here: SharedEvents = {
    power: (node, power) => {
      if (this.isHeard) this.#gathering.power(node, power);
    },
    notice: (nodes, message) => {
      if (this.isHeard) this.#add({ what: 'notice', time: Date.now(), nodes, message });
    },
    hardware: (nodes, news) => {
      if (this.isHeard) this.#add({ what: 'hardware', time: Date.now(), nodes, news });
    },
  };
  /** For whoever counts. */
  readonly counts = { told: 0, dropped: 0, gaps: 0 };

  constructor(store: Store, log: Logger, news?: News) {
    this.#store = store;
    this.#log = log;
    this.#elsewhere = news && shareEvents(news, this.here);
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
    this.#elsewhere?.power(node, power);
    this.here.power(node, power);
  }

  /** Notes a step of a node's boot. */
  boot(node: string, step: string, text: string | undefined): void {
    if (this.isHeard) this.#add({ what: 'boot', time: Date.now(), nodes: [node], step, text });
  }

  /** Notifies whoever hears of these nodes of what needs somebody's attention. */
  notice(nodes: readonly string[], message: string): void {
    this.#elsewhere?.notice(nodes, message);
    this.here.notice(nodes, message);
  }

  /** Notes what the BMC of these nodes reports. */
  hardware(nodes: readonly string[], news: HardwareNews): void {
    this.#elsewhere?.hardware(nodes, news);
    this.here.hardware(nodes, news);
  }

  run(news: RunNews, targets: readonly string[] | undefined, owner: RunOwner): void {
    if (!this.isHeard) return;
    this.#gathering.forgetRun(news.run);
    this.#gathering.flush();
    this.#add({ what: 'run', time: Date.now(), news, targets, owner });
  }

  /** Progress comes often; the latest of a while is sent. */
  progress(run: string, news: () => RunNews, targets: readonly string[] | undefined, owner: RunOwner): void {
    if (this.isHeard)
      this.#gathering.progress(run, () => ({ what: 'run', time: Date.now(), news: news(), targets, owner }));
  }

  /** Sends events until the listener leaves or has enough. What cannot be sent is refused before anything is. */
  listen(audience: Audience, open: () => Sink): Promise<void> {
    const after = audience.after === undefined ? undefined : parseEventId(audience.after);
    if (this.#isClosed)
      throw new Fault('unavailable', 'muster is shutting down; try again shortly.', { retryAfter: 5 });
    const sink = open();
    this.#start();
    const listener = new Listener(sink, this.#held);
    const ended = new Promise<void>((resolve) => {
      const entry: Open = { audience, listener, shared: this.#shared(audience.filter), from: 0 };
      const { shared } = entry;
      shared.all.add(entry);
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
      catchUp(this.#known(), { view: shared.view, listener, sink }, after, (number) => this.#join(entry, number)).catch(
        (error: unknown) => {
          this.#log.error({ err: error }, 'events could not be sent');
          listener.end(dropText(wentWrong));
        },
      );
    }).finally(() => this.#listening.delete(ended));
    this.#listening.add(ended);
    return ended;
  }

  /** Sends events to somebody in this process from now on; returns what ends that. */
  attach(filter: Pick<EventFilter, 'kinds' | 'range'>, take: (events: readonly EventData[]) => void): () => void {
    this.#start();
    const own = { ...filter, user: '', addresses: [], command: 'events', line: '', ranges: {}, isOwn: true };
    const attached = { view: new View(own, this.#store.current), at: this.#entries.number, take };
    this.#attached.add(attached);
    return () => {
      this.#attached.delete(attached);
      this.#stopWhenIdle();
    };
  }

  /** Resolves when all who listen have heard of it. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { all } of this.#views.values())
      for (const { listener } of all) listener.end(dropText('muster is shutting down; connect again.'));
    this.#stop();
    await Promise.all(this.#listening);
  }

  #shared(filter: EventFilter): SharedView {
    const key = View.key(filter, this.#store.current);
    let shared = this.#views.get(key);
    if (!shared) {
      const view = new View(filter, this.#store.current);
      shared = { key, view, open: new Set(), all: new Set(), at: this.#entries.number };
      this.#views.set(key, shared);
    }
    return shared;
  }

  #known(): Known {
    const { counts } = this;
    return { store: this.#store, entries: this.#entries, sequence: () => this.#sequence, counts };
  }

  /** From here on it gets the same as the others, together with them. */
  #join(entry: Open, number: number): void {
    const { shared, listener } = entry;
    if (shared.open.size === 0) shared.at = number;
    const ready = { kind: 'ready', time: new Date().toISOString(), revision: this.#store.current.revision };
    const text = block('ready', JSON.stringify(ready), this.#entries.position(this.#sequence));
    listener.push({ bytes: Buffer.from(text), holders: 0 });
    entry.from = number;
    shared.open.add(entry);
  }

  #leave(entry: Open): void {
    const { shared } = entry;
    shared.open.delete(entry);
    shared.all.delete(entry);
    if (shared.all.size === 0 && this.#views.get(shared.key) === shared) this.#views.delete(shared.key);
    this.#stopWhenIdle();
  }

  /** The last it gets; with the id of the last event that it has it can go on. */
  #dismiss(open: Open, why: string): void {
    open.listener.end(dropText(why));
    this.#leave(open);
  }

  #stopWhenIdle(): void {
    if (this.#views.size + this.#attached.size === 0)
      this.#idle ??= setTimeout(() => this.#stop(), idleTimeout).unref();
  }

  #start(): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    if (this.#following || this.#isClosed) return;
    const { current } = this.#store;
    this.#following = new AbortController();
    this.#entries.begin();
    this.#sequence = current.sequence;
    this.#credentials = credentialsIn(current);
    this.#heart = setInterval(() => this.#beat(), heartbeat).unref();
    void this.#follow(this.#following.signal);
  }

  #stop(): void {
    this.#following?.abort();
    this.#following = undefined;
    clearInterval(this.#heart);
    clearTimeout(this.#idle);
    this.#idle = undefined;
    this.#entries.clear();
    this.#gathering.clear();
  }

  async #follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const item of this.#store.follow(this.#sequence, signal)) {
          if ('snapshot' in item) {
            this.#sequence = item.snapshot.sequence;
            this.counts.gaps++;
            this.#add({ what: 'gap', time: undefined, message: lostAll });
          } else {
            this.#sequence = item.sequence;
            this.#add({ what: 'set', time: Date.now(), set: item });
          }
        }
      } catch (error) {
        this.#log.error({ err: error }, 'changes could not be followed for the listeners of events; it is tried again');
        await wait(1_000, undefined, { ref: false });
      }
    }
  }

  #add(event: HubEvent): void {
    this.#entries.add(event, this.#sequence);
    if (this.#entries.isFull) this.#entries.forget(this.#sentToAll());
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#deliver());
  }

  /** The number of the last entry that everybody has got. */
  #sentToAll(): number {
    let sent = this.#entries.number;
    for (const { at } of this.#views.values()) sent = Math.min(sent, at);
    for (const { at } of this.#attached) sent = Math.min(sent, at);
    return sent;
  }

  #deliver(): void {
    this.#isScheduled = false;
    const { current } = this.#store;
    // Without that nobody gets anything.
    if (!this.#safely(() => this.#checkRights(current))) return;
    for (const shared of this.#views.values()) if (shared.view.isWhole) this.#deliverOrDrop(shared, current);
    for (const attached of this.#attached) this.#safely(() => this.#deliverInside(attached, current));
    if (!this.#isPacing) void this.#pace();
  }

  #safely(send: () => void): boolean {
    try {
      send();
      return true;
    } catch (error) {
      this.#log.error({ err: error }, 'events could not be sent');
      return false;
    }
  }

  #deliverInside(attached: Attached, current: Snapshot): void {
    const { at, view, take } = attached;
    const entries = this.#entries.after(at);
    attached.at = this.#entries.number;
    view.look(current);
    const isGap = entries.length > 0 && entries[0]!.position.number > at + 1;
    const events = entries.map(({ event }) => event);
    if (isGap) events.unshift({ what: 'gap', time: undefined, message: lostAll });
    const rendered = events.flatMap((event) => view.render(event));
    if (rendered.length > 0) take(rendered);
  }

  /** Views that differ for their callers are made one after the other, as fast as their share of the time lets them. */
  async #pace(): Promise<void> {
    this.#isPacing = true;
    for (let isMore = true; isMore; ) {
      isMore = false;
      for (const shared of this.#views.values()) {
        if (shared.open.size === 0) shared.at = this.#entries.number;
        if (shared.view.isWhole || shared.at === this.#entries.number) continue;
        isMore = true;
        const began = performance.now();
        this.#deliverOrDrop(shared, this.#store.current);
        await wait((performance.now() - began) * (1 / pacedShare - 1), undefined, { ref: false });
      }
    }
    this.#isPacing = false;
  }

  /** Whom something could not be sent to is cut off: it comes back and gets it again, so that nothing is lost unnoticed. */
  #deliverOrDrop(shared: SharedView, current: Snapshot): void {
    if (this.#safely(() => this.#deliverTo(shared, current))) return;
    for (const each of shared.open) this.#dismiss(each, wentWrong);
  }

  #deliverTo(shared: SharedView, current: Snapshot): void {
    const { at, view, open: listeners } = shared;
    const entries = this.#entries.after(at);
    shared.at = this.#entries.number;
    if (entries.length === 0 || listeners.size === 0) return;
    view.look(current);
    if (entries[0]!.position.number > at + 1) this.#sendGap(listeners);
    for (const bytes of textsOf(view, entries, this.#entries.lives)) {
      const chunk = { bytes, holders: 0 };
      for (const { listener, from } of listeners) if (from <= at) listener.push(chunk);
    }
    for (const { listener, from } of listeners) {
      if (from <= at) continue;
      const missing = entries.filter(({ position }) => position.number > from);
      for (const bytes of textsOf(view, missing, this.#entries.lives)) listener.push({ bytes, holders: 0 });
    }
    this.counts.told += entries.length * shared.open.size;
    for (const open of shared.open) if (open.listener.isTooSlow) this.#drop(open);
    while (this.#held.bytes > mostHeld && this.#dropSlowest());
  }

  /** They are so many that what differs for callers could not be made for these before it had to be forgotten. */
  #sendGap(listeners: Iterable<Open>): void {
    const chunk = { bytes: Buffer.from(gapText(lostAll)), holders: 0 };
    this.counts.gaps++;
    for (const { listener } of listeners) listener.push(chunk);
  }

  #drop(open: Open): void {
    this.counts.dropped++;
    this.#dismiss(
      open,
      `This connection fell ${open.listener.behind} bytes behind; connect again with the header Last-Event-ID to go on from the last event you have.`,
    );
  }

  #dropSlowest(): boolean {
    let slowest: Open | undefined;
    for (const { open } of this.#views.values())
      for (const each of open) if (each.listener.behind > (slowest?.listener.behind ?? 0)) slowest = each;
    if (slowest) this.#drop(slowest);
    return slowest !== undefined;
  }

  /** Those who may no longer listen, or may hear something else than before, are informed, also while they catch up. */
  #checkRights(current: Snapshot, isTime = false): void {
    const credentials = credentialsIn(current);
    if (!isTime && credentials.every((rows, i) => rows === this.#credentials[i])) return;
    for (const [key, { view, all }] of this.#views) {
      if (isTime) view.renew();
      const { filter } = view;
      const { user, scope, addresses, command } = filter;
      const policy = policyOf(current, scope);
      const isAllowed =
        policy.alwaysAllows(user, command) || policy.couldAllow({ user, addresses, command, now: new Date() });
      const isOther = View.key(filter, current) !== key || View.isWhole(filter, current) !== view.isWhole;
      for (const each of all) {
        const isKnown = isStillKnown(current, each.audience);
        if (isAllowed && isKnown && !isOther && View.key(each.audience.filter, current) === key) continue;
        this.#dismiss(
          each,
          isKnown ? 'What you may hear has changed; connect again.' : 'Your credentials have ended; log in again.',
        );
      }
    }
    this.#credentials = credentials;
  }

  #beat(): void {
    if (!this.#safely(() => this.#checkRights(this.#store.current, true))) return;
    const id = eventId(this.#entries.position(this.#sequence));
    const chunk = { bytes: Buffer.from(`: alive\nid: ${id}\n\n`), holders: 0 };
    for (const { open, at } of this.#views.values())
      if (at === this.#entries.number) for (const { listener } of open) if (listener.isIdle) listener.push(chunk);
  }
}

/** The tables that decide who may listen, as they are. */
const credentialsIn = (snapshot: Snapshot): readonly unknown[] =>
  ['token', 'passwd', 'siteaccount', 'policy'].map((table) => snapshot.rows(table));
