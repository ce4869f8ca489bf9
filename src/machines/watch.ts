import type { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { HypervisorListener, ListedMachine } from '../core/hypervisor-listener.ts';
import { inSlices, mapInSlices } from '../core/slices.ts';
import { ownOrigin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import { tableNamed } from '../database/tables.ts';
import { assign } from '../objects/assign.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { nodeType } from '../objects/types.ts';
import type { NodeStatus } from '../nodes/index.ts';
import { DoubtfulClaims } from './doubtful-claims.ts';
import { hypervisorsIn, hypervisorsNamed } from './hypervisors.ts';
import {
  endMove,
  lastHostOf,
  lastHosts,
  moveUnderWay,
  noteHost,
  type SeenHypervisor,
  type SeenMachine,
  type Whereabouts,
  whereabouts,
} from './places.ts';

export interface WatchServices {
  readonly store: Store;
  readonly status: Pick<NodeStatus, 'note'>;
  readonly events: {
    power(node: string, power: string): void;
    notice(nodes: readonly string[], message: string): void;
  };
  readonly log: Logger;
  /** The value of mgt that the machines have. */
  readonly mgt: string;
  readonly hypervisors: { follow(host: string, listener: HypervisorListener): () => void };
}

/** Milliseconds after which definitions that have changed are looked at, and machines that may have moved. */
const lookDelay = 500;
const settleDelay = 1_000;
/** Machines of a hypervisor that are remembered though they are no nodes: they may become some. */
const mostStrangers = 10_000;
const longestName = 255;

const statusOf = { on: 'powering-on', off: 'powering-off', crashed: 'powering-off' } as const;
/** What a machine that is off may be said to be. Whatever else is said of it was true before. */
const restingStatuses: readonly string[] = ['', 'defined', 'unreachable', 'noping', 'failed', statusOf.off];

interface Followed extends SeenHypervisor {
  place: string | undefined;
  readonly machines: Map<string, SeenMachine>;
  /** The log says that it is not connected. */
  isLost: boolean;
  end(): void;
}

/**
 * Follows all hypervisors of one driver that the definitions name, so that `status` and `vmhost` of nodes are true when somebody else switches or
 * moves their machines. A hypervisor is believed about the machines that belong to it. That it has the machine of another is believed
 * only if that machine may move to it; else the log and an event say so, and nothing changes.
 */
export class MachineWatch {
  readonly #services: WatchServices;
  readonly #followed = new Map<string, Followed>();
  readonly #unsettled = new Set<string>();
  readonly #doubts: DoubtfulClaims;
  #looking: NodeJS.Timeout | undefined;
  #settling: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;
  #revision = -1;

  constructor(services: WatchServices) {
    this.#services = services;
    this.#doubts = new DoubtfulClaims(services);
  }

  resume(): void {
    const { store } = this.#services;
    this.#unsubscribe = store.subscribe((current) => this.#lookSoon(current));
    // At once: commands ask those that are followed who uses a disk.
    this.#look().catch((error: unknown) => this.#failed(error));
  }

  close(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    clearTimeout(this.#looking);
    clearTimeout(this.#settling);
    for (const { end } of this.#followed.values()) end();
    this.#followed.clear();
  }

  /** What nodes are doing has no revision, and says nothing of hypervisors. */
  #lookSoon({ revision }: Snapshot): void {
    if (revision === this.#revision) return;
    this.#looking ??= setTimeout(() => {
      this.#looking = undefined;
      this.#look().catch((error: unknown) => this.#failed(error));
    }, lookDelay).unref();
  }

  async #look(): Promise<void> {
    const { current } = this.#services.store;
    this.#revision = current.revision;
    const wanted = await inSlices(hypervisorsIn(current, this.#services.mgt));
    if (!this.#unsubscribe) return;
    for (const [host, { end }] of this.#followed) {
      if (wanted.has(host)) continue;
      end();
      this.#followed.delete(host);
    }
    for (const host of wanted) if (!this.#followed.has(host)) this.#follow(host);
    // A definition may have confirmed what was doubtful.
    const reader = effectiveReader(current);
    for (const node of this.#doubts.nodes) if (!reader.nodeRow(node)) this.#doubts.forget(node);
    this.#settleSoon(this.#doubts.nodes);
  }

  #follow(host: string): void {
    const followed: Followed = { place: undefined, machines: new Map(), isLost: false, end: () => undefined };
    this.#followed.set(host, followed);
    followed.end = this.#services.hypervisors.follow(host, {
      listed: (place, machines) =>
        void this.#list(host, followed, place, machines).catch((error) => this.#failed(error)),
      wants: (name) => this.#isKept(followed, name),
      switched: (name, to) => {
        if (!this.#isAt(this.#reader, name, followed.place, host)) return;
        this.#services.status.note(name, statusOf[to]);
        this.#services.events.power(name, to);
        if (to === 'crashed') this.#crashed(name, host);
      },
      changed: (name, machine) => {
        this.#keep(followed, name, machine);
        this.#settleSoon([name]);
      },
      hasMachines: () => lastHosts(this.#services.store.current, () => true).includes(host),
      owns: (name) =>
        this.#isAt(this.#reader, name, followed.place, host) ||
        moveUnderWay(this.#services.store.current, name) === host,
      tookBack: (name, words) => this.#tookBack(name, host, words),
      lost: (reason) => this.#lost(host, followed, reason),
    });
  }

  #crashed(node: string, host: string): void {
    const { events, log } = this.#services;
    const sentence = `the virtual machine ${node} crashed on ${host}. Look for the cause in /var/log/libvirt/qemu/${node}.log there, then switch it on again.`;
    events.notice([node], sentence);
    log.warn({ hypervisor: host, node }, sentence);
  }

  #tookBack(node: string, host: string, words: string): void {
    const { events, log } = this.#services;
    const sentence = `the virtual machine ${node} on ${host} ${words}`;
    events.notice([node], sentence);
    log.warn({ hypervisor: host, node }, sentence);
  }

  get #reader(): EffectiveReader {
    return effectiveReader(this.#services.store.current);
  }

  async #list(host: string, followed: Followed, place: string, machines: readonly ListedMachine[]): Promise<void> {
    const { log, status } = this.#services;
    if (followed.isLost) log.info({ hypervisor: host }, 'muster is connected to the hypervisor again');
    followed.isLost = false;
    followed.place = place;
    const names = new Set([...followed.machines.keys(), ...machines.map(({ name }) => name)]);
    const listed = new Map(machines.map((machine) => [machine.name, machine]));
    for (const name of names) this.#keep(followed, name, listed.get(name));
    this.#settleSoon(names);
    const reader = this.#reader;
    // Nobody has reported what happened before.
    await mapInSlices(machines, ({ name, isOn }) => {
      if (!this.#isAt(reader, name, place, host)) return;
      const said = reader.nodeRow(name)?.['status'] ?? '';
      if (isOn && said === statusOf.off) status.note(name, statusOf.on);
      if (!isOn && !restingStatuses.includes(said)) status.note(name, statusOf.off);
    });
    await this.#noteHosts(place, host, machines);
  }

  /** Of machines that were made before muster noted that, or by others: their vmhost may change while they stay there. */
  async #noteHosts(place: string, host: string, machines: readonly ListedMachine[]): Promise<void> {
    const { store } = this.#services;
    const isNew = (reader: EffectiveReader, { name, uuid }: ListedMachine): boolean =>
      this.#isAt(reader, name, place, host) &&
      lastHostOf(reader.snapshot, name) === undefined &&
      reader.row(tableNamed('vpd'), name)?.['uuid']?.toLowerCase() === uuid;
    const current = this.#reader;
    const found = (await mapInSlices(machines, (machine) => (isNew(current, machine) ? [machine] : []))).flat();
    if (found.length === 0) return;
    await store.change(ownOrigin('machine-seen'), (head) => {
      const draft = new Draft(head);
      const newest = effectiveReader(head);
      for (const machine of found) if (isNew(newest, machine)) noteHost(draft, machine.name, host);
      return draft.changes();
    });
  }

  #lost(host: string, followed: Followed, reason: Fault): void {
    if (followed.isLost) return;
    followed.isLost = true;
    this.#services.log.warn(
      { hypervisor: host },
      `muster is not connected to the hypervisor and sees no changes there: ${reason.message}`,
    );
  }

  /** One that is gone is remembered while it is a node: somewhere else it may be known again. */
  #keep(followed: Followed, name: string, machine: ListedMachine | undefined): void {
    const { machines } = followed;
    const before = machines.get(name);
    if (machine && !this.#isKept(followed, name)) return;
    if (machine) machines.set(name, { uuid: machine.uuid, isOn: machine.isOn, isThere: true });
    else if (before && this.#reader.nodeRow(name)) machines.set(name, { ...before, isOn: false, isThere: false });
    else machines.delete(name);
  }

  #isKept({ machines }: Followed, name: string): boolean {
    return (
      machines.has(name) ||
      this.#reader.nodeRow(name) !== undefined ||
      (machines.size < mostStrangers && name.length <= longestName)
    );
  }

  /** Whether the node is a machine whose home is this hypervisor, by whichever of its names. */
  #isAt(reader: EffectiveReader, name: string, place: string | undefined, host: string): boolean {
    const home = this.#homeOf(reader, name);
    return home !== undefined && (home === host || (place !== undefined && this.#followed.get(home)?.place === place));
  }

  #settleSoon(names: Iterable<string>): void {
    const reader = this.#reader;
    for (const name of names) if (reader.nodeRow(name)) this.#unsettled.add(name);
    if (this.#unsettled.size === 0) return;
    this.#settling ??= setTimeout(() => {
      this.#settling = undefined;
      this.#settle().catch((error: unknown) => this.#failed(error));
    }, settleDelay).unref();
  }

  /** Two hypervisors report a move, and muster's own are kept by whoever has asked for them: both take a moment. */
  async #settle(): Promise<void> {
    const { store, log } = this.#services;
    const names = [...this.#unsettled];
    this.#unsettled.clear();
    const reader = this.#reader;
    const seen = await mapInSlices(names, (name) => ({
      name,
      home: this.#homeOf(reader, name),
      ...this.#whereabouts(reader, name),
    }));
    this.#doubts.note(seen);
    const moved = seen.filter(({ movedTo }) => movedTo !== undefined).map(({ name }) => name);
    if (moved.length === 0) return;
    let moves: string[] = [];
    await store.change(ownOrigin('machine-moved'), (head) => {
      moves = [];
      const draft = new Draft(head);
      const newest = effectiveReader(head);
      for (const name of moved) {
        const { movedTo: vmhost } = this.#whereabouts(newest, name);
        if (vmhost === undefined) continue;
        moves.push(`${name} is on ${vmhost} now`);
        assign(draft, { type: nodeType, name, attributes: { vmhost }, mode: 'set', fresh: false });
        endMove(draft, name);
        noteHost(draft, name, vmhost);
      }
      return draft.changes();
    });
    for (const sentence of moves) log.info(`a virtual machine was moved: ${sentence}`);
  }

  #whereabouts(reader: EffectiveReader, name: string): Whereabouts {
    const home = this.#homeOf(reader, name);
    if (home === undefined) return { movedTo: undefined, doubtful: [] };
    const { snapshot } = reader;
    const uuid = reader.row(tableNamed('vpd'), name)?.['uuid']?.toLowerCase();
    const mayMoveTo = (host: string): boolean =>
      moveUnderWay(snapshot, name) === host ||
      hypervisorsNamed(snapshot, nodeAttribute(reader, name, 'migrationdest') ?? '').includes(host);
    return whereabouts({ name, home, uuid, mayMoveTo }, this.#followed);
  }

  #failed(error: unknown): void {
    this.#services.log.error({ err: error }, 'changes of virtual machines could not be written to the database');
  }

  /** The hypervisor that the definitions give a machine. */
  #homeOf(reader: EffectiveReader, name: string): string | undefined {
    if (!reader.nodeRow(name) || nodeAttribute(reader, name, 'mgt') !== this.#services.mgt) return undefined;
    return nodeAttribute(reader, name, 'vmhost');
  }
}
