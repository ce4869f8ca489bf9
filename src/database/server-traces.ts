import type { Logger } from '../core/log.ts';
import { isSamePlace, type KnownServer, mostServers, readNote } from './server-notes.ts';
import type { SharedRecords } from './shared-records.ts';

const kind = 'server-trace';
/** Milliseconds for which a server that did not say good-bye stays listed. */
const listedFor = 24 * 3_600_000;

/**
 * What stays of a server that was killed or lost: each server renews its trace together with its lease, which is over much earlier, and removes it
 * when it is stopped.
 */
export class ServerTraces {
  readonly #shared: SharedRecords;
  readonly #id: string;
  readonly #log: Logger;

  constructor(shared: SharedRecords, id: string, log: Logger) {
    this.#shared = shared;
    this.#id = id;
    this.#log = log;
  }

  /** By the connection for claims: others must not keep a server from renewing. */
  async renew(body: string): Promise<void> {
    await this.#shared.claim({ kind, name: this.#id, holder: this.#id, body }, listedFor);
    await this.#shared.shorten([kind], listedFor);
  }

  async remove(ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.#shared.remove(kind, ids);
  }

  /** Of all servers, also of those that are there. */
  async list(): Promise<KnownServer[]> {
    const found = await this.#shared.list({ kind, limit: mostServers });
    return found.flatMap((record) => {
      const known = readNote(record, this.#log);
      return known && record.name !== this.#id ? { ...known, id: record.name } : [];
    });
  }

  /**
   * Those that left a trace and are not among the others. A server takes its place before it leaves a trace, and removes the trace first: so
   * one that starts or is stopped meanwhile has no trace before its place is read, or none after that.
   */
  async withoutServer(living: () => Promise<readonly KnownServer[]>) {
    const before = await this.list();
    const servers = await living();
    const lost = before.filter(
      ({ id, ...trace }) => !servers.some((each) => each.id === id || isSamePlace(each, trace)),
    );
    if (lost.length === 0) return { servers, lost };
    const left = new Set((await this.list()).map(({ id }) => id));
    return { servers, lost: lost.filter(({ id }) => left.has(id)) };
  }
}
