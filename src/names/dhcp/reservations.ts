import { type Ip, ipKind, ipText, parseIp } from '../../core/ip.ts';
import { isOneMachine, normalMac } from '../../core/mac.ts';
import type { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { SortedMap } from '../../database/sorted-map.ts';
import { isEnabled, keyOf, type Row, tableNamed } from '../../database/tables.ts';
import { hostNameProblem } from '../../objects/host-names.ts';

/** The table of the reservations that nodes were given: what Kea has is made from it, so it survives the end of either. */
export const reservationTable = 'dhcphost';
const table = tableNamed(reservationTable);

export interface Reservation {
  readonly node: string;
  /** Lower case, with colons. */
  readonly mac: string;
  /** Undefined: the MAC address gets no answer at all. */
  readonly ip: Ip | undefined;
  /** Its text; empty if there is none. */
  readonly address: string;
  readonly hostname: string;
  readonly nextServer: string | undefined;
  /** What its firmware loads; undefined: iPXE. */
  readonly loader: 'grub' | undefined;
}

const reservationKey = ({ node, mac, address }: Reservation): string => `${node} ${mac} ${address}`;

const sameReservation = (a: Reservation, b: Reservation): boolean =>
  a.hostname === b.hostname && a.nextServer === b.nextServer && a.loader === b.loader;

/** Reservations by what must be unique. */
export class ReservationSet {
  readonly #byNode = new Map<string, readonly Reservation[]>();
  readonly #byMac = new Map<string, Reservation[]>();
  readonly #byIp = new Map<string, Reservation>();

  *[Symbol.iterator](): Iterator<Reservation> {
    for (const list of this.#byNode.values()) yield* list;
  }

  get byNode(): ReadonlyMap<string, readonly Reservation[]> {
    return this.#byNode;
  }

  ofNode(node: string): readonly Reservation[] {
    return this.#byNode.get(node) ?? [];
  }

  byAddress(address: string): Reservation | undefined {
    return this.#byIp.get(address);
  }

  /** The node that a MAC address is reserved for. */
  nodeOfMac(mac: string): string | undefined {
    return this.#byMac.get(mac)?.[0]?.node;
  }

  copy(): ReservationSet {
    const copy = new ReservationSet();
    for (const [node, list] of this.#byNode) copy.#byNode.set(node, list);
    for (const [mac, list] of this.#byMac) copy.#byMac.set(mac, [...list]);
    for (const [ip, reservation] of this.#byIp) copy.#byIp.set(ip, reservation);
    return copy;
  }

  /** What stands in the way of adding it: another node with its MAC address or address, or a second one of its own where one is possible. */
  conflict(added: Reservation): Reservation | undefined {
    const sameIp = this.#byIp.get(added.address);
    if (sameIp) return sameIp;
    return this.#byMac.get(added.mac)?.find((other) => other.node !== added.node || !other.ip || !added.ip);
  }

  add(added: Reservation): void {
    this.#byNode.set(added.node, [...this.ofNode(added.node), added]);
    const sameMac = this.#byMac.get(added.mac);
    if (sameMac) sameMac.push(added);
    else this.#byMac.set(added.mac, [added]);
    if (added.ip) this.#byIp.set(added.address, added);
  }

  /**
   * The nodes have exactly these from now on. Those for which that cannot be keep what they have; the answer says why. Who has an address
   * or a MAC address already keeps it: another one that wants it is refused.
   */
  replace(wanted: ReadonlyMap<string, readonly Reservation[]>): ReadonlyMap<string, string> {
    const before = new Map([...wanted.keys()].map((node) => [node, this.ofNode(node)]));
    const refused = new Map<string, string>();
    for (;;) {
      for (const [node, old] of before) {
        this.removeNode(node);
        if (refused.has(node)) for (const each of old) this.add(each);
      }
      const keeps = (node: string): boolean => isAmong(wanted.get(node)!, before.get(node)!);
      const found = this.#addAll(
        [...wanted].filter(([node]) => !refused.has(node)),
        keeps,
      );
      if (found.size === 0) return refused;
      // What these keep may be in the way of others.
      for (const [node, sentence] of found) refused.set(node, sentence);
    }
  }

  /** Those first that only keep what they have. Returns what stands in the way, by nodes, which then have nothing. */
  #addAll(
    wanted: readonly (readonly [string, readonly Reservation[]])[],
    keeps: (node: string) => boolean,
  ): Map<string, string> {
    const found = new Map<string, string>();
    const together = new Set(wanted.map(([node]) => node));
    for (const isKept of [true, false])
      for (const [node, reservations] of wanted) {
        if (keeps(node) !== isKept) continue;
        for (const reservation of reservations) {
          const conflict = this.conflict(reservation);
          if (conflict) {
            this.removeNode(node);
            const isNew = together.has(conflict.node) && !keeps(conflict.node);
            found.set(node, conflictText(reservation, conflict, isNew));
            break;
          }
          this.add(reservation);
        }
      }
    return found;
  }

  removeNode(node: string): void {
    for (const gone of this.ofNode(node)) {
      const rest = this.#byMac.get(gone.mac)!.filter((each) => each !== gone);
      if (rest.length > 0) this.#byMac.set(gone.mac, rest);
      else this.#byMac.delete(gone.mac);
      if (gone.ip) this.#byIp.delete(gone.address);
    }
    this.#byNode.delete(node);
  }
}

/** Whether these are all there already. */
const isAmong = (wanted: readonly Reservation[], present: readonly Reservation[]): boolean =>
  wanted.every((each) => present.some(({ mac, address }) => mac === each.mac && address === each.address));

/** What has to go and what has to come to get from one set to the other. */
export function difference(from: Iterable<Reservation>, to: Iterable<Reservation>) {
  const old = new Map([...from].map((each) => [reservationKey(each), each]));
  const added: Reservation[] = [];
  for (const each of to) {
    const key = reservationKey(each);
    const before = old.get(key);
    if (before && (before === each || sameReservation(before, each))) old.delete(key);
    else added.push(each);
  }
  return { removed: [...old.values()], added };
}

const cache = new WeakMap<SortedMap<Row>, ReservationSet>();

/** Rows may be written by hand: one that Kea could not take is left out, for it would keep Kea from taking any. */
export const reservationsOf = (snapshot: Snapshot): ReservationSet => reservationsIn(snapshot.rows(reservationTable));

export function reservationsIn(rows: SortedMap<Row>): ReservationSet {
  let set = cache.get(rows);
  if (!set) {
    set = new ReservationSet();
    for (const row of rows.values()) {
      const reservation = isEnabled(row) ? fromRow(row) : undefined;
      if (reservation && !set.conflict(reservation)) set.add(reservation);
    }
    cache.set(rows, set);
  }
  return set;
}

/** Spares reading them again. */
export function rememberReservations(snapshot: Snapshot, set: ReservationSet): void {
  cache.set(snapshot.rows(reservationTable), set);
}

function fromRow({ node = '', mac = '', ip = '', hostname = '', nextserver, loader }: Row): Reservation | undefined {
  const address = parseIp(ip);
  const plainMac = normalMac(mac);
  if (!plainMac || !isOneMachine(plainMac)) return undefined;
  if (ip !== '' && !(address && ipKind(address) === 'host')) return undefined;
  if (hostNameProblem(hostname) || (nextserver && parseIp(nextserver)?.family !== 4)) return undefined;
  return {
    node,
    mac: plainMac,
    ip: address,
    address: address ? ipText(address) : '',
    hostname,
    nextServer: nextserver || undefined,
    loader: loader === 'grub' ? loader : undefined,
  };
}

/** Puts exactly these reservations of the node into the table. */
export function storeReservations(draft: Draft, node: string, reservations: readonly Reservation[]): void {
  const rows = new Map(
    reservations.map(({ mac, address, hostname, nextServer, loader }) => {
      const row = { node, mac, ip: address, hostname, nextserver: nextServer, loader };
      return [keyOf(table, row as Row), row];
    }),
  );
  for (const old of draft.base.rows(reservationTable).startingWith(`${node}\0`)) {
    const key = keyOf(table, old);
    if (!rows.has(key)) draft.remove(reservationTable, key);
  }
  for (const [key, row] of rows) draft.merge(reservationTable, key, row);
}

/** Gives the node's reservations of IPv4 another server to boot from, and leaves everything else in the table as it is. */
export function storeNextServer(draft: Draft, node: string, nextServer: string | undefined): void {
  for (const row of draft.base.rows(reservationTable).startingWith(`${node}\0`)) {
    const reservation = isEnabled(row) ? fromRow(row) : undefined;
    if (reservation?.ip?.family === 4 && reservation.nextServer !== nextServer)
      draft.merge(reservationTable, keyOf(table, row), { nextserver: nextServer });
  }
}

/** Says why a reservation cannot be beside another one, and what to do; `together`: one request asks for both. */
function conflictText(added: Reservation, other: Reservation, together: boolean): string {
  const { node, mac, address, hostname } = added;
  const sameIp = added.ip !== undefined && address === other.address;
  if (other.node === node)
    return sameIp
      ? `Node ${node}, mac.mac: ${other.mac} and ${mac} would both get the address ${address}. Name a host of its own for one of them (MAC!host).`
      : `Node ${node}, mac.mac: the MAC address ${mac} is named twice, once with *NOIP*. Name it once.`;
  const where = sameIp ? (hostname === node ? 'hosts.ip' : `mac.mac with the host ${hostname}`) : 'mac.mac';
  const what = sameIp ? `the address ${address}` : `the MAC address ${mac}`;
  const whose = sameIp ? `${other.mac} of node ${other.node}` : `node ${other.node}`;
  if (together)
    return `Node ${node}, ${where}: ${what} is asked for ${whose} in the same request. Give one of the nodes another.`;
  const remedy = `Do POST /nodes/${other.node},${node}/dhcp if both were changed, or DELETE /nodes/${other.node}/dhcp first`;
  return `Node ${node}, ${where}: ${what} is reserved for ${whose} already. ${remedy}.`;
}
