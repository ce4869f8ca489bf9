import { Fault } from '../../core/errors.ts';
import { parseIp } from '../../core/ip.ts';
import type { Origin } from '../../database/changeset.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { siteValue } from '../../objects/effective.ts';
import { RefusedNodes } from '../../objects/select.ts';
import { KeaAway } from '../../protocols/kea/control.ts';
import { Turns } from '../../core/waiting.ts';
import { BootFollower, type FollowerParts } from './boot-follower.ts';
import { type BootWorkers, bootWorkersIn, type WorkersToBootFrom } from './boot-workers.ts';
import { isWithin, planSubnets } from './subnets.ts';
import { type Base, firmwareLifetime, renderBase, type ServedSubnet, sortedSubnets, subnetOf } from './document.ts';
import { FirmwareLeases, leaseTimes } from './firmware-leases.ts';
import type { KeaServer } from './kea-server.ts';
import { type Lease, leasesOf } from './leases.ts';
import type { Machine } from '../local-networks.ts';
import { planReservations } from './plan-reservations.ts';
import { PoolWatch } from './pool-watch.ts';
import type { NodeDhcp } from './node-dhcp.ts';
import { away, type KeeperParts, ReservationKeeper } from './reservation-keeper.ts';
import { type ReservationSet, reservationsOf, reservationTable } from './reservations.ts';

export interface DhcpParts extends KeeperParts {
  readonly machine: Machine;
  readonly hooks: readonly string[];
  readonly bootScript: string;
  /** Undefined: there are none. */
  readonly bootFrom: WorkersToBootFrom | undefined;
}

/**
 * Nobody reports that Kea was restarted: its process may be a child of systemd or of an earlier muster, and Kea itself closes
 * a connection to its control socket after each answer and when it is idle. So it is asked.
 */
const processCheckInterval = 2_000;
const poolCheckInterval = 10_000;
const usualLease = 43_200;
const longestBootFile = 127;

/**
 * DHCP on this management node. The networks are rendered into Kea's configuration when asked; the reservations are rows of a table,
 * and Kea is given them whenever they or its process change, so whatever dies comes back to the same state.
 */
export class Dhcp implements NodeDhcp {
  readonly pools: PoolWatch;
  readonly #parts: DhcpParts;
  readonly #turns = new Turns();
  readonly #keeper: ReservationKeeper;
  readonly #loaded: Promise<unknown>;
  readonly #server4: KeaServer;
  readonly #firmware: FirmwareLeases;
  #trouble = '';
  #isQueued = false;
  #stopWatching: (() => void) | undefined;

  constructor(parts: DhcpParts) {
    this.#parts = parts;
    this.#server4 = parts.servers.find(({ family }) => family === 4)!;
    this.#firmware = new FirmwareLeases(this.#server4.files.leaseFile);
    this.pools = new PoolWatch(parts.servers, parts.log);
    this.#keeper = new ReservationKeeper(parts, this.#turns, (error) => this.#noteTrouble(error));
    this.#loaded = Promise.all(parts.servers.map((server) => server.load())).catch((error: unknown) =>
      parts.log.error({ err: error }, "Kea's configuration cannot be read"),
    );
  }

  /** Takes up what an earlier muster has left, and keeps it up to date from now on. */
  resume(): void {
    this.#stopWatching ??= this.#watch();
  }

  async close(): Promise<void> {
    this.#stopWatching?.();
    await this.#loaded;
    await this.#turns.take(() => Promise.resolve());
    await Promise.all(this.#parts.servers.map((server) => server.close()));
    await this.#parts.database?.close();
  }

  /** Serves all networks as they are defined now; answers with what there is to say about them. */
  async configure(snapshot: Snapshot): Promise<readonly string[]> {
    const { machine, servers } = this.#parts;
    await this.#loaded;
    const { subnets, reachable, messages } = await planSubnets(snapshot, machine);
    if (subnets.length === 0)
      throw new Fault(
        'invalid',
        'No network is defined that DHCP could serve. POST /networks defines those of this machine.',
      );
    const bases = new Map<KeaServer, Base>();
    for (const server of servers) {
      if (!subnets.some(({ prefix }) => prefix.family === server.family)) continue;
      bases.set(server, renderBase(server.family, subnets, reachable, this.#keaSettings(snapshot, server)));
    }
    return this.#turns.take(async () => [...messages, ...(await this.#serve(bases))]);
  }

  async wasConfigured(): Promise<boolean> {
    await this.#loaded;
    return this.#keeper.subnets.length > 0;
  }

  async reserve(
    snapshot: Snapshot,
    nodes: readonly string[],
    origin: Origin,
  ): Promise<{ readonly messages: readonly string[]; readonly refused: RefusedNodes }> {
    await this.#loaded;
    for (;;) {
      const subnets = this.#keeper.subnets;
      if (subnets.length === 0)
        throw new Fault(
          'unavailable',
          'DHCP is not configured yet. POST /services/dhcp configures it for all networks.',
        );
      this.#checkDatabase();
      const refused = new RefusedNodes();
      const { machine } = this.#parts;
      const bootWorkers = this.bootWorkers(snapshot);
      const { byNode, messages } = await planReservations(snapshot, nodes, subnets, { machine, bootWorkers }, refused);
      if (await this.#keeper.submit(byNode, origin, { planned: subnets, refused })) return { messages, refused };
    }
  }

  /** Keeps the servers that nodes boot from up to date while workers come and go; returns what ends that. */
  followWorkers(notice: FollowerParts['notice']): () => void {
    const { bootFrom, store, log } = this.#parts;
    return bootFrom ? new BootFollower({ ...bootFrom, store, log, notice }).start() : () => undefined;
  }

  /** Undefined where there are no workers at all. */
  bootWorkers(snapshot: Snapshot): BootWorkers | undefined {
    const { bootFrom } = this.#parts;
    return bootFrom && bootWorkersIn(bootFrom, snapshot);
  }

  /** Where machines of the network of an address boot from that have no server of their own; undefined: that is not known here. */
  bootServerOf(address: string): string | undefined {
    const ip = parseIp(address);
    const { base } = this.#server4;
    const subnet = ip && base && subnetOf(base.subnets, ip);
    return subnet?.bootServer;
  }

  async release(nodes: readonly string[], origin: Origin): Promise<void> {
    await this.#loaded;
    this.#checkDatabase();
    await this.#keeper.submit(new Map(nodes.map((node) => [node, []])), origin);
  }

  async leases(): Promise<Lease[]> {
    await this.#loaded;
    const now = Date.now() / 1_000;
    const served = this.#parts.servers.filter(({ base }) => base);
    return (await Promise.all(served.map((server) => leasesOf(server, now)))).flat();
  }

  /** Whether every DHCP server with networks of ours answers; undefined: none has any. */
  async isServing(): Promise<boolean | undefined> {
    await this.#loaded;
    const served = this.#parts.servers.filter(({ base }) => base);
    if (served.length === 0) return undefined;
    return (await Promise.all(served.map((server) => server.pid()))).every((pid) => pid !== undefined);
  }

  async answered(macs: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly Date[]> | undefined> {
    await this.#loaded;
    return this.#server4.base && leaseTimes(this.#server4.files.leaseFile, macs);
  }

  /** Kea's times are whole seconds. */
  async gaveToFirmware(address: string, since: Date): Promise<boolean> {
    await this.#loaded;
    const { base } = this.#server4;
    const lifetime = base && firmwareLifetime(base);
    if (lifetime === undefined) return false;
    const last = await this.#firmware.lastOf(address, lifetime);
    return last !== undefined && last > since;
  }

  /** Kea would look for reservations elsewhere than we put them. */
  #checkDatabase(): void {
    const { servers, database } = this.#parts;
    const here = JSON.stringify(database?.keaParameters);
    if (servers.some(({ base }) => base && JSON.stringify(base.body['hosts-database']) !== here))
      throw new Fault(
        'unavailable',
        'The setting dhcp.hostsDatabase has changed since DHCP was configured. POST /services/dhcp configures it again.',
      );
  }

  #keaSettings(snapshot: Snapshot, { files: { socket, leaseFile, directory } }: KeaServer) {
    const { database, hooks, bootScript } = this.#parts;
    const lease = siteValue(snapshot, 'dhcplease') || String(usualLease);
    if (!/^[1-9]\d{0,8}$/.test(lease))
      throw new Fault('invalid', `Site attribute dhcplease: "${lease}" is not a number of seconds.`);
    const httpPort = siteValue(snapshot, 'httpport') || '80';
    if (!/^[1-9]\d{0,4}$/.test(httpPort) || Number(httpPort) > 65_535)
      throw new Fault('invalid', `Site attribute httpport: "${httpPort}" is not a port.`);
    if (bootScript.length + 'ddd.ddd.ddd.ddd:ddddd'.length > longestBootFile)
      throw new Fault('invalid', `Setting dhcp.bootScript: DHCP can send at most ${longestBootFile} characters.`);
    return {
      socket,
      leaseFile,
      directory,
      hooks,
      leaseTime: Number(lease),
      boot: { script: bootScript, httpPort },
      hostsDatabase: database?.keaParameters,
    };
  }

  async #serve(bases: ReadonlyMap<KeaServer, Base>): Promise<string[]> {
    const { store, servers, database } = this.#parts;
    const snapshot = store.current;
    const reservations = reservationsOf(snapshot);
    const subnets = sortedSubnets([...bases.values()].flatMap((base) => base.subnets));
    const messages = checkReserved(reservations, subnets);
    const inConfiguration = database ? [] : reservations;
    for (const [server, base] of bases) await server.check(base, inConfiguration);
    await database?.sync(reservations, subnets);
    for (const server of servers) {
      const base = bases.get(server);
      if (!base) await server.retire();
      else {
        this.#keeper.doubt(server.family);
        const pid = await this.#explained(server.configure(base, inConfiguration));
        if (pid === undefined)
          messages.push(`${server.name} does not run; it serves ${server.files.configuration} when it is started.`);
        else {
          await this.#keeper.trust(server, pid, snapshot);
          for (const trouble of await server.socketTrouble()) messages.push(`${server.name}: ${trouble}.`);
        }
      }
    }
    return messages;
  }

  /** Kea gets what is missing when rows have changed by other ways, and when it has been restarted. Returns what ends that. */
  #watch(): () => void {
    const { store, database } = this.#parts;
    let rows = store.current.rows(reservationTable);
    const unsubscribe = store.subscribe((current) => {
      if (current.rows(reservationTable) === rows) return;
      rows = current.rows(reservationTable);
      this.#catchUp();
    });
    database?.whenLost(() => this.#catchUp());
    const timer = setInterval(() => this.#catchUp(), processCheckInterval).unref();
    const poolTimer = setInterval(() => this.#lookAtPools(), poolCheckInterval).unref();
    void this.#loaded.then(() => this.#turns.take(() => this.#startAgain()));
    void this.#loaded.then(() => this.#catchUp());
    return () => {
      unsubscribe();
      database?.whenLost(() => undefined);
      clearInterval(timer);
      clearInterval(poolTimer);
    };
  }

  #lookAtPools(): void {
    this.#turns
      .take(() => this.pools.look())
      .catch((error: unknown) =>
        this.#parts.log.warn({ err: error }, 'Kea does not say how many addresses it has left'),
      );
  }

  #catchUp(): void {
    if (this.#isQueued) return;
    this.#isQueued = true;
    const work = (): Promise<void> => {
      this.#isQueued = false;
      return this.#keeper.catchUp();
    };
    this.#turns.take(work).then(
      () => this.#noteTrouble(undefined),
      (error: unknown) => this.#noteTrouble(error),
    );
  }

  async #startAgain(): Promise<void> {
    const { servers, log } = this.#parts;
    for (const { name } of servers.filter(({ isOutdated }) => isOutdated))
      log.info(
        `${name} was configured by an older muster; it now gets the current rules that distinguish firmware from running systems`,
      );
    for (const server of servers)
      await server.resume().catch((error: unknown) => log.error({ err: error }, `${server.name} could not be started`));
  }

  #noteTrouble(error: unknown): void {
    const trouble = error === undefined ? '' : (error as Error).message;
    if (trouble !== '' && trouble !== this.#trouble)
      this.#parts.log.error({ err: error }, 'the DHCP server could not be given its reservations');
    this.#trouble = trouble;
  }

  async #explained<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw error instanceof KeaAway ? away(error, 'Try again.') : error;
    }
  }
}

/** Reserved addresses must not be given to others; those of networks that are gone are not served. */
function checkReserved(reservations: ReservationSet, subnets: readonly ServedSubnet[]): string[] {
  let outside = 0;
  for (const { node, ip, address } of reservations) {
    if (!ip) continue;
    const subnet = subnetOf(subnets, ip);
    if (!subnet) outside++;
    else if (address === subnet.gateway)
      throw new Fault(
        'invalid',
        `Network ${subnet.network}, gateway: the address ${address} is reserved for node ${node}. Do DELETE /nodes/${node}/dhcp first.`,
      );
    else if (subnet.ranges.some((range) => isWithin(range, ip)))
      throw new Fault(
        'invalid',
        `Network ${subnet.network}, dynamicrange: it holds the address ${address}, which is reserved for node ${node}.`,
      );
  }
  return outside === 0 ? [] : [`${outside} reservations have an address in no network and are not served.`];
}
