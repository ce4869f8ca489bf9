import type { Client, QueryConfig } from 'pg';
import { sequenceTable } from '../own-tables.ts';
import type { Announcement } from '../shared-records.ts';
import type { Channels } from './channels.ts';
import { drop, newClient } from './client.ts';
import { isAnswered, type PostgresPlace } from './place.ts';

/** Milliseconds. Commits are notified of; this finds those whose notice was lost, and a server that no longer answers. */
const pollInterval = 2_000;
const retryInterval = 500;
/** How long the answer to a question that costs nothing may take. */
const answerTimeout = 5_000;
/** Longer than from one look to the next. */
const longestTrust = 3_000;

interface Surroundings {
  readonly channels: Channels;
  /** The process of the server that serves our own writer. */
  readonly ownProcess: () => number | undefined;
  /** Called when the database does not answer, and cannot be connected to either. */
  readonly unreachable: () => void;
}

interface Watcher {
  readonly changed: (latest?: number) => void;
  /** The sequence that whoever watches has followed to; undefined: the one at the last look. */
  readonly followed: (() => number) | undefined;
  seen: number | undefined;
}

/** Hears of the commits of others. */
export class Listener {
  readonly #place: PostgresPlace;
  readonly #surroundings: Surroundings;
  readonly #watchers = new Set<Watcher>();
  readonly #hearers = new Set<(announcement: Announcement) => void>();
  #client: Client | undefined;
  #connecting: Promise<Client> | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the question was asked to which the answer was that there is nothing new: it may lie here while this process is suspended. */
  #confirmed = performance.now();
  /** Looks in a row that have failed. */
  #failures = 0;
  #isClosed = false;

  constructor(place: PostgresPlace, surroundings: Surroundings) {
    this.#place = place;
    this.#surroundings = surroundings;
  }

  watch(changed: Watcher['changed'], followed?: Watcher['followed']): () => void {
    // Each call is a watcher of its own, also of a function that watches already.
    const watcher: Watcher = { changed, followed, seen: undefined };
    this.#watchers.add(watcher);
    if (this.#watchers.size === 1) void this.#look();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#stop();
    };
  }

  /** Hears what other servers announce, while somebody watches. */
  hear(heard: (announcement: Announcement) => void): () => void {
    this.#hearers.add(heard);
    return () => this.#hearers.delete(heard);
  }

  /** For longer than usual nothing was heard of the database: it may have become another. */
  get isUnsure(): boolean {
    return this.silence() > longestTrust;
  }

  silence(): number {
    return performance.now() - this.#confirmed;
  }

  /** Nothing newer than what is known was there at that time. */
  confirm(asked: number): void {
    this.#confirmed = Math.max(this.#confirmed, asked);
  }

  close(): void {
    this.#isClosed = true;
    this.#watchers.clear();
    this.#stop();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#drop();
  }

  /** Looks whether there is anything new, and again after a while. */
  async #look(): Promise<void> {
    clearTimeout(this.#timer);
    let next = pollInterval;
    try {
      const client = this.#client ?? (await this.#connected());
      const asked = performance.now();
      const question: QueryConfig & { readonly query_timeout: number } = {
        text: `select coalesce(max(sequence), 0) as latest from ${sequenceTable}`,
        query_timeout: answerTimeout,
      };
      const { rows } = await client.query<{ latest: number }>(question);
      const { latest } = rows[0]!;
      this.#failures = 0;
      const { isUnsure } = this;
      const behind = [...this.#watchers].filter(({ followed, seen }) => isUnsure || (followed?.() ?? seen) !== latest);
      for (const watcher of this.#watchers) watcher.seen = latest;
      // Whoever hears of something new asks for it, and finds out when there is no more, and whether it is what came before.
      if (behind.length === 0) this.confirm(asked);
      for (const { changed } of behind) changed();
    } catch (error) {
      // Whoever looks for changes now hears why that fails.
      this.#drop();
      this.#tell();
      // After the first, a connection could not be made either: nobody need wait for answers on those that there are.
      this.#failures = isAnswered(error) ? 0 : this.#failures + 1;
      if (this.#failures > 1) this.#surroundings.unreachable();
      next = retryInterval;
    }
    if (this.#isClosed || this.#watchers.size === 0) this.#drop();
    else this.#timer = setTimeout(() => void this.#look(), next).unref();
  }

  /** A look that begins while another one connects waits for the same connection. */
  async #connected(): Promise<Client> {
    this.#connecting ??= this.#listening().finally(() => (this.#connecting = undefined));
    return (this.#client = await this.#connecting);
  }

  async #listening(): Promise<Client> {
    const { changes, announcements } = this.#surroundings.channels;
    const client = newClient(this.#place);
    const lost = (): void => {
      if (this.#client !== client) return;
      this.#drop();
      void this.#look();
    };
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', ({ processId, channel: heardOn, payload = '' }) => {
      if (heardOn === announcements) this.#pass(readAnnouncement(payload));
      else if (processId !== this.#surroundings.ownProcess())
        this.#tell(/^\d{1,15}$/.test(payload) ? Number(payload) : undefined);
    });
    await client.connect();
    await client.query(`listen ${changes}; listen ${announcements}`);
    return client;
  }

  #pass(announcement: Announcement | undefined): void {
    if (announcement) for (const heard of this.#hearers) heard(announcement);
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client) drop(client);
  }

  #tell(latest?: number): void {
    for (const { changed } of this.#watchers) changed(latest);
  }
}

/** Undefined: a server of another version may say things that this one does not understand. */
function readAnnouncement(payload: string): Announcement | undefined {
  try {
    const { kind, name, holder } = JSON.parse(payload) as Record<string, unknown>;
    const isText = [kind, name, holder].every((text) => typeof text === 'string');
    return isText ? ({ kind, name, holder } as Announcement) : undefined;
  } catch {
    return undefined;
  }
}
