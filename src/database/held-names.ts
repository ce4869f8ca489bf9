import { setTimeout as pause } from 'node:timers/promises';
import { Type } from 'typebox';
import type { Logger } from '../core/log.ts';
import { type BodyReader, bodyReader } from './record-bodies.ts';
import type { Servers } from './servers.ts';
import type { SharedRecord, SharedRecords } from './shared-records.ts';

/** Milliseconds. Thousands of names are renewed at a time, so that is done less often than with leases. */
const lease = 60_000;
const renewal = 20_000;
/** Milliseconds that releases are collected. */
const releaseDelay = 50;
/** More than servers hold. */
const mostNames = 1_000_000;

interface Parts {
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id' | 'name' | 'machine'>;
  /** The directory that this process has the lock of. */
  readonly data: string;
  readonly log: Logger;
}

/** What every holder leaves with what it holds. */
interface HolderNote {
  readonly server: string;
  readonly data: string;
  readonly machine?: string;
}
const holderMembers = { server: Type.String(), data: Type.String(), machine: Type.Optional(Type.String()) };

/** What others say of names that they hold; undefined where a server of another version says it. */
type OtherNotes<Note> = ReadonlyMap<string, (Note & HolderNote) | undefined>;

/**
 * Names that one server of a database holds at a time, many at once, such as nodes that are being provisioned. A server that is killed gives
 * them up when it no longer renews them, or when it is started again.
 */
export class HeldNames<Note extends object> {
  readonly #kind: string;
  readonly #parts: Parts;
  readonly #readNote: BodyReader<Note & HolderNote>;
  readonly #held = new Map<string, SharedRecord>();
  #releasing = new Set<string>();
  #released: Promise<void> = Promise.resolve();
  #renewals: NodeJS.Timeout | undefined;

  /** `members`: of the notes. */
  constructor(kind: string, members: Type.TProperties, parts: Parts) {
    this.#kind = kind;
    this.#parts = parts;
    this.#readNote = bodyReader(Type.Object({ ...members, ...holderMembers }));
  }

  /** Gives up what an earlier process of this machine held that had the data directory. */
  async resume(): Promise<void> {
    const { shared, servers, data, log } = this.#parts;
    if (shared.isAlone) return;
    const found = await shared.list({ kind: this.#kind, besides: servers.id, limit: mostNames });
    const earlier = found.filter((record) => {
      const note = this.#readNote(record, log);
      return note?.server === servers.name && note.machine === servers.machine && note.data === data;
    });
    for (const [holder, records] of Map.groupBy(earlier, (record) => record.holder))
      await shared.releaseAll(
        this.#kind,
        records.map(({ name }) => name),
        holder,
      );
  }

  /** Takes the names for this server. Answers with those that other servers have, and what these say of it. */
  async take(notes: ReadonlyMap<string, Note>): Promise<OtherNotes<Note>> {
    const { shared, servers, data } = this.#parts;
    const { name: server, machine } = servers;
    if (shared.isAlone || notes.size === 0) return new Map();
    await this.#released;
    const records = [...notes].map(([name, note]): SharedRecord => {
      const body = JSON.stringify({ ...note, server, data, machine });
      return { kind: this.#kind, name, holder: servers.id, body };
    });
    // If the clock of the database was set back, what killed servers held would last for long.
    await shared.shorten([this.#kind], lease);
    const others = this.#notesOf(await shared.claimAll(records, lease));
    for (const record of records) if (!others.has(record.name)) this.#held.set(record.name, record);
    this.#renewals ??= setInterval(() => void this.#renew(), renewal).unref();
    return others;
  }

  /** Those of the names that other servers have. */
  async others(names: readonly string[]): Promise<OtherNotes<Note>> {
    const { shared, servers } = this.#parts;
    if (shared.isAlone) return new Map();
    const wanted = new Set(names);
    const found = await shared.list({ kind: this.#kind, besides: servers.id, limit: mostNames });
    return this.#notesOf(found.filter(({ name }) => wanted.has(name)));
  }

  /** Soon, several together. */
  release(name: string): void {
    if (!this.#held.delete(name)) return;
    this.#releasing.add(name);
    if (this.#releasing.size === 1) this.#released = this.#releaseAfter(this.#released);
  }

  /** Resolves when all that was released is free at all servers. */
  released(): Promise<void> {
    return this.#released;
  }

  async #releaseAfter(earlier: Promise<void>): Promise<void> {
    await earlier;
    await pause(releaseDelay);
    const { shared, servers, log } = this.#parts;
    const names = [...this.#releasing];
    this.#releasing = new Set();
    if (this.#held.size === 0) {
      clearInterval(this.#renewals);
      this.#renewals = undefined;
    }
    await shared
      .releaseAll(this.#kind, names, servers.id)
      .catch((error: unknown) => log.warn({ err: error }, `${names.length} nodes stay taken for up to a minute`));
  }

  async #renew(): Promise<void> {
    const { shared, log } = this.#parts;
    try {
      for (const { name } of await shared.claimAll([...this.#held.values()], lease)) {
        this.#held.delete(name);
        log.warn(`Another server has taken ${name}: this one did not reach the database in time.`);
      }
    } catch (error) {
      log.warn(
        { err: error },
        `the claim of ${this.#held.size} names (${this.#kind}) could not be renewed; it is tried again`,
      );
    }
  }

  #notesOf(records: readonly SharedRecord[]): OtherNotes<Note> {
    return new Map(records.map((record) => [record.name, this.#readNote(record, this.#parts.log)]));
  }
}
