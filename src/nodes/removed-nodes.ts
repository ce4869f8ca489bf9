import type { Logger } from '../core/log.ts';
import { Turns } from '../core/waiting.ts';
import { ownOrigin } from '../database/changeset.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { SortedMap } from '../database/sorted-map.ts';
import type { Store } from '../database/store.ts';
import type { Row } from '../database/tables.ts';
import { goneNodes } from '../objects/gone-nodes.ts';
import { asSiteSays, type DaemonServers, type Dhcp, type Dns, type Hosts, reservationsOf } from '../names/index.ts';

export interface RemovedNodesParts {
  readonly store: Store;
  readonly log: Logger;
  readonly hosts: Hosts;
  readonly dns: Dns;
  readonly dhcp: Dhcp;
  readonly daemons: Pick<DaemonServers, 'isHere'>;
}

const retryDelay = 10_000;

/**
 * What muster has written for a node goes with the node, whichever way that is removed or renamed. The reservations are rows of the node,
 * which DHCP follows by itself. Then comes the hosts file, for DNS is made again from it, and DNS at last. What is to go is known from the
 * ledgers, so it is also found after a restart, and tried again while a server is away. A node with a new name gets under this what
 * it had under the old one. All of that happens at the server that has the daemon.
 */
export class RemovedNodes {
  readonly #parts: RemovedNodesParts;
  readonly #turns = new Turns();
  #before: SortedMap<Row> | undefined;
  #unsubscribe: (() => void) | undefined;
  #retry: NodeJS.Timeout | undefined;
  #trouble = '';
  #isQueued = false;

  constructor(parts: RemovedNodesParts) {
    this.#parts = parts;
  }

  resume(): void {
    const { store } = this.#parts;
    this.#before = store.current.rows('nodelist');
    this.#unsubscribe = store.subscribe((current) => this.#look(current));
    this.#clearSoon();
  }

  async close(): Promise<void> {
    this.#unsubscribe?.();
    clearTimeout(this.#retry);
    await this.settled();
  }

  /** Whatever was removed or renamed before now is done with, or could not be. */
  settled(): Promise<void> {
    return this.#turns.take(() => Promise.resolve());
  }

  #look(current: Snapshot): void {
    const before = this.#before!;
    const rows = current.rows('nodelist');
    if (rows === before) return;
    this.#before = rows;
    const { removed, renamed } = goneNodes(before, rows);
    if (removed.length === 0) return;
    for (const [from, to] of renamed) this.#do(() => this.#carry(current, from, to));
    this.#clearSoon();
  }

  /** Many that go one after another are cleared together. */
  #clearSoon(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    this.#do(async () => {
      const { store, hosts, dns, daemons } = this.#parts;
      this.#isQueued = false;
      clearTimeout(this.#retry);
      if (!daemons.isHere('names')) return;
      try {
        await hosts.removeUndefined(store.current);
        await dns.removeUndefined(store.current);
        this.#trouble = '';
      } catch (error) {
        this.#retry = setTimeout(() => this.#clearSoon(), retryDelay).unref();
        throw error;
      }
    });
  }

  #do(work: () => Promise<void>): void {
    this.#turns.take(work).catch((error: unknown) => {
      const { message } = error as Error;
      if (message !== this.#trouble)
        this.#parts.log.error(
          { err: error },
          'what was written for nodes that were removed or renamed could not be changed',
        );
      this.#trouble = message;
    });
  }

  async #carry(snapshot: Snapshot, from: string, to: string): Promise<void> {
    const { hosts, dns, dhcp, daemons } = this.#parts;
    const wasInDns = dns.hasRecords(snapshot, from);
    if (daemons.isHere('dhcp') && reservationsOf(snapshot).ofNode(to).length > 0)
      (await dhcp.reserve(snapshot, [to], ownOrigin('makedhcp'))).refused.tell();
    if (!daemons.isHere('names')) return;
    if (hosts.hasLines(from)) await hosts.write(snapshot, [to], asSiteSays);
    if (wasInDns) await dns.add(snapshot, [to]);
  }
}
