import { setImmediate } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import type { Logger } from '../../core/log.ts';
import type { Turns } from '../../core/waiting.ts';
import type { Origin, RowChange } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { SortedMap } from '../../database/sorted-map.ts';
import type { Store } from '../../database/store.ts';
import type { Row } from '../../database/tables.ts';
import { RefusedNodes } from '../../objects/select.ts';
import { KeaAway } from '../../protocols/kea/control.ts';
import { type Base, type Family, type ServedSubnet, sortedSubnets } from './document.ts';
import { DatabaseAway, type HostsDatabase } from './hosts-database.ts';
import { type Difference, type KeaServer, Refused } from './kea-server.ts';
import { dropLeases } from './leases.ts';
import {
  difference,
  rememberReservations,
  type Reservation,
  type ReservationSet,
  reservationsIn,
  reservationsOf,
  reservationTable,
  storeReservations,
} from './reservations.ts';

/** What nodes shall have from now on, and who wants it. */
interface WantedReservations {
  readonly origin: Origin;
  readonly wanted: ReadonlyMap<string, readonly Reservation[]>;
}

/** The rows of a change, made before they are stored. */
interface PreparedRows {
  readonly origin: Origin;
  /** The changes on this snapshot; made again if somebody else has changed the rows meanwhile. */
  on(head: Snapshot): readonly RowChange[];
  /** Nobody has. */
  readonly undisturbed: boolean;
}

const nodesPerTurn = 250;

async function prepareRows(
  snapshot: Snapshot,
  changes: readonly WantedReservations[],
): Promise<readonly PreparedRows[]> {
  const prepared: PreparedRows[] = [];
  for (const { origin, wanted } of changes) {
    const draft = new Draft(snapshot);
    let turn = 0;
    for (const [node, reservations] of wanted) {
      if (++turn % nodesPerTurn === 0) await setImmediate();
      storeNode(draft, node, reservations);
    }
    const made = draft.changes();
    let undisturbed = true;
    prepared.push({
      origin,
      on(head) {
        const same = (table: string): boolean => head.rows(table) === snapshot.rows(table);
        undisturbed = same(reservationTable) && same('nodelist');
        if (undisturbed) return made;
        const again = new Draft(head);
        for (const [node, reservations] of wanted) storeNode(again, node, reservations);
        return again.changes();
      },
      get undisturbed() {
        return undisturbed;
      },
    });
  }
  return prepared;
}

/** A node that was removed meanwhile gets none. */
function storeNode(draft: Draft, node: string, reservations: readonly Reservation[]): void {
  if (reservations.length === 0 || draft.base.get('nodelist', node)) storeReservations(draft, node, reservations);
}

export interface KeeperParts {
  readonly store: Store;
  readonly log: Logger;
  readonly servers: readonly KeaServer[];
  readonly database: HostsDatabase | undefined;
}

/** What nodes shall have from now on, and who waits for it. */
interface Change extends WantedReservations {
  /** The subnets they were planned for; undefined: any. */
  readonly planned: readonly ServedSubnet[] | undefined;
  /** Where nodes are noted that cannot have them. */
  readonly refused: RefusedNodes;
  resolve(done: boolean): void;
  reject(error: unknown): void;
}

/** Which process of Kea was sent which rows; anything else it has to be sent again. */
interface Sent {
  readonly pid: number;
  readonly rows: SortedMap<Row>;
}

/** Which process of Kea has been given a change; whether only what is different, for it had all else. */
type Given = ReadonlyMap<KeaServer, { readonly pid: number; readonly inStep: boolean }>;

/** Keeps the reservations of the table and those that Kea has the same. */
export class ReservationKeeper {
  readonly #parts: KeeperParts;
  /** Shared with all else that speaks to Kea. */
  readonly #turns: Turns;
  readonly #troubled: (error: unknown) => void;
  readonly #sent = new Map<Family, Sent>();
  /** The database was, when it was asked last. */
  #isAway = false;
  #waiting: Change[] = [];
  #bases: readonly Base[] = [];
  #subnets: readonly ServedSubnet[] = [];

  constructor(parts: KeeperParts, turns: Turns, troubled: (error: unknown) => void) {
    this.#parts = parts;
    this.#turns = turns;
    this.#troubled = troubled;
  }

  /** All subnets that are served; the same list until they change. */
  get subnets(): readonly ServedSubnet[] {
    const bases = this.#parts.servers.flatMap(({ base }) => base ?? []);
    const same = bases.length === this.#bases.length && bases.every((base, i) => base === this.#bases[i]);
    if (!same) {
      this.#bases = bases;
      this.#subnets = sortedSubnets(bases.flatMap((base) => base.subnets));
    }
    return this.#subnets;
  }

  /** Kea may have anything from now on. */
  doubt(family: Family): void {
    this.#sent.delete(family);
  }

  /** This process of Kea was given all rows of the snapshot again. */
  async trust(server: KeaServer, pid: number, snapshot: Snapshot): Promise<void> {
    if (await this.#dropLeases(server, reservationsOf(snapshot), [])) this.#note(server, pid, snapshot);
  }

  #note({ family }: KeaServer, pid: number, snapshot: Snapshot): void {
    this.#sent.set(family, { pid, rows: snapshot.rows(reservationTable) });
  }

  /** Several changes of a moment are given to Kea together. False: nothing was done, for other subnets are served by now. */
  submit(
    wanted: Change['wanted'],
    origin: Origin,
    { planned, refused = new RefusedNodes() }: Partial<Pick<Change, 'planned' | 'refused'>> = {},
  ): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ wanted, origin, planned, refused, resolve, reject });
      if (this.#waiting.length === 1) void this.#turns.take(() => this.#applyWaiting());
    });
  }

  async #applyWaiting(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    await this.#apply(batch);
  }

  async #apply(batch: readonly Change[]): Promise<void> {
    const before = this.#parts.store.current;
    const current = reservationsOf(before);
    const next = current.copy();
    const { subnets } = this;
    const accepted = batch.flatMap((change) => {
      if (change.planned && change.planned !== subnets) {
        change.resolve(false);
        return [];
      }
      const conflicts = next.replace(change.wanted);
      for (const [node, sentence] of conflicts) change.refused.refuse(node, [sentence]);
      const wanted = new Map([...change.wanted].filter(([node]) => !conflicts.has(node)));
      if (wanted.size > 0) return [{ ...change, wanted }];
      change.resolve(true);
      return [];
    });
    if (accepted.length === 0) return;
    const nodes = accepted.flatMap(({ wanted }) => [...wanted.keys()]);
    const asked = new Set(nodes.flatMap((node) => next.ofNode(node)));
    const different = difference(
      nodes.flatMap((node) => current.ofNode(node)),
      asked,
    );
    // Kea takes as long to read them as the table takes to store them, so both go on together; what Kea refuses is taken back.
    const giving = this.#give(before, next, different).then(async (sent) => ({ sent, kept: await this.#keep() }));
    giving.catch(() => undefined);
    const rows = await prepareRows(before, accepted);
    const [given, stored] = await Promise.allSettled([giving, this.#store(rows)]);
    if (stored.status === 'rejected') this.#notStored(accepted, stored.reason);
    else if (given.status === 'rejected') await this.#notGiven(accepted, current, given.reason);
    else {
      const { sent, kept } = given.value;
      const clean = new Set<KeaServer>();
      for (const [server, { inStep }] of sent)
        if (await this.#dropLeases(server, inStep ? asked : next, different.removed)) clean.add(server);
      for (const { resolve } of accepted) resolve(true);
      if (rows.length === 1 && rows[0]!.undisturbed) rememberReservations(stored.value, next);
      if (kept)
        for (const [server, { pid }] of sent) if (clean.has(server)) this.#noteIfSame(server, pid, next, stored.value);
    }
  }

  /** The reservations are served all the same, only later: when the leases end by themselves. False: to be tried again. */
  async #dropLeases(
    server: KeaServer,
    reserved: Iterable<Reservation>,
    removed: readonly Reservation[],
  ): Promise<boolean> {
    try {
      await dropLeases(server, reserved, removed);
    } catch (error) {
      this.#parts.log.warn(
        { err: error },
        `${server.name} keeps leases of addresses whose reservation has changed; other machines get these when the leases end`,
      );
      return !(error instanceof KeaAway);
    }
    return true;
  }

  /** Kea may have what the table has not; the next look gives it what the table has. */
  #notStored(changes: readonly Change[], error: unknown): void {
    this.#sent.clear();
    for (const { reject } of changes) reject(error);
  }

  /** What Kea cannot get now it gets later; what it refuses is taken back, and is nobody else's fault. */
  async #notGiven(changes: readonly Change[], before: ReservationSet, error: unknown): Promise<void> {
    this.#sent.clear();
    if (error instanceof KeaAway || error instanceof DatabaseAway) {
      const reason = away(error, 'The request is noted and will be done as soon as the server is back.');
      for (const { reject } of changes) reject(reason);
      return;
    }
    const earlier = changes.map(({ origin, wanted }) => ({
      origin,
      wanted: new Map([...wanted.keys()].map((node) => [node, before.ofNode(node)])),
    }));
    try {
      await this.#store(await prepareRows(this.#parts.store.current, earlier));
    } catch (failure) {
      this.#troubled(failure);
    }
    if (error instanceof Refused && changes.length > 1) for (const change of changes) await this.#apply([change]);
    else for (const { reject } of changes) reject(error);
  }

  /** Gives all servers concerned what is different, or everything to one that may have something else. */
  async #give(before: Snapshot, next: ReservationSet, different: Difference): Promise<Given> {
    const { servers, database } = this.#parts;
    const rows = before.rows(reservationTable);
    const sent = new Map<KeaServer, { pid: number; inStep: boolean }>();
    const all = [...different.removed, ...different.added];
    if (database) {
      const inStep = servers.every(({ base, family }) => !base || this.#sent.get(family)?.rows === rows);
      if (inStep && !database.inDoubt) await database.change(different.removed, different.added, this.subnets);
      else await database.sync(next, this.subnets);
    }
    for (const server of servers) {
      if (!server.base) continue;
      if (database && (server.servesCopy || server.isOutdated)) await server.configure(server.base, []);
      const pid = await server.pid();
      if (pid === undefined) throw new KeaAway(server.files.socket, new Error('it does not run'));
      const known = this.#sent.get(server.family);
      const inStep = known?.pid === pid && known.rows === rows;
      const concerned = all.some(({ ip }) => !ip || ip.family === server.family);
      if (!database && (concerned || !inStep)) {
        this.#sent.delete(server.family);
        try {
          await server.update(next, inStep ? different : undefined);
        } catch (error) {
          if (error instanceof Refused) await this.#takeBack([...sent.keys()], reservationsOf(before));
          throw error;
        }
      }
      sent.set(server, { pid, inStep });
    }
    return sent;
  }

  /** If that fails too, the next look finds that they have something else. */
  async #takeBack(servers: readonly KeaServer[], before: ReservationSet): Promise<void> {
    for (const server of servers) {
      this.#sent.delete(server.family);
      await server.update(before, undefined).catch((error: unknown) => this.#troubled(error));
    }
  }

  /** If the file cannot be written, Kea serves the new state all the same, and the next look tries again. */
  async #keep(): Promise<boolean> {
    try {
      await Promise.all(this.#parts.servers.map((server) => server.keep()));
      return true;
    } catch (error) {
      this.#sent.clear();
      this.#troubled(error);
      return false;
    }
  }

  async #store(prepared: readonly PreparedRows[]): Promise<Snapshot> {
    const { store } = this.#parts;
    const committed = await Promise.all(prepared.map((rows) => store.change(rows.origin, (head) => rows.on(head))));
    return committed.at(-1)!.snapshot;
  }

  /** Somebody else may have changed rows meanwhile; then the next look finds the difference. */
  #noteIfSame(server: KeaServer, pid: number, given: ReservationSet, snapshot: Snapshot): void {
    const { removed, added } = difference(given, reservationsOf(snapshot));
    if (removed.length + added.length === 0) this.#note(server, pid, snapshot);
  }

  /** Gives Kea what it did not get: it has been restarted, or rows have changed by other ways. In a turn of the caller. */
  async catchUp(): Promise<void> {
    const { servers, store, database } = this.#parts;
    const snapshot = store.current;
    const rows = snapshot.rows(reservationTable);
    const isAway = await this.#databaseIsAway();
    if (database?.inDoubt && !isAway) this.#sent.clear();
    for (const server of servers) {
      if (!server.base) continue;
      const pid = await server.pid();
      const sent = this.#sent.get(server.family);
      const isRight = !database || server.servesCopy === isAway;
      // One that does not run finds a copy when it is started; of a database it would find nothing.
      if (pid === undefined ? !isAway : isRight && sent?.pid === pid && sent.rows === rows) continue;
      await this.#giveAll(server, reservationsOf(snapshot), isAway);
      if (pid === undefined) continue;
      const removed = sent ? difference(reservationsIn(sent.rows), reservationsOf(snapshot)).removed : [];
      if (await this.#dropLeases(server, reservationsOf(snapshot), removed)) this.#note(server, pid, snapshot);
    }
  }

  async #giveAll(server: KeaServer, all: ReservationSet, isAway: boolean): Promise<void> {
    const { database } = this.#parts;
    if (isAway) await server.serveCopy(all);
    else if (database) {
      await database.sync(all, this.subnets);
      if (server.servesCopy || server.isOutdated) await server.configure(server.base!, []);
    } else {
      await server.update(all, undefined);
      await server.keep();
    }
  }

  async #databaseIsAway(): Promise<boolean> {
    const { database, log } = this.#parts;
    if (!database || this.subnets.length === 0) return false;
    const trouble = await database.trouble();
    if (trouble && !this.#isAway)
      log.error({ err: trouble }, 'Kea uses a copy of its host table until the database is back');
    if (!trouble && this.#isAway) log.info("Kea's host table is back");
    this.#isAway = trouble !== undefined;
    return this.#isAway;
  }
}

export const away = (error: Error, what: string): Fault =>
  new Fault(
    'unavailable',
    error instanceof KeaAway
      ? [`The DHCP server Kea cannot be used now: ${error.message}.`, what, 'POST /services/dhcp starts it.']
      : [error.message, what],
    { cause: error },
  );
