import { randomUUID } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { NamedSlots } from '../../core/limiter.ts';
import {
  type Domain,
  domainState,
  domainStatistics,
  findDomain,
  followDomains,
  type LifecycleEvent,
  openDriver,
  statistics,
} from '../../protocols/libvirt/calls/domains.ts';
import { hostIdentity } from '../../protocols/libvirt/calls/host.ts';
import { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { isRefusal } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import { type Claim, DiskClaims } from './disk-claims.ts';
import type { HypervisorRoutes } from './routes.ts';
import { takeBackLeftWork } from './unfinished-work.ts';

const driverUri = 'qemu:///system';
/** Machines that are remembered: a hypervisor may report any number. */
const mostKnown = 50_000;

/** The other hypervisors that muster follows. */
export interface OtherHypervisors {
  readonly reached: readonly Hypervisor[];
  /** Those that do not answer, and had machines when they last did. */
  readonly silent: readonly SilentHypervisor[];
}

export interface SilentHypervisor {
  readonly host: string;
  readonly reason: Fault;
  /** Of the machines that it had. */
  readonly uuids: ReadonlySet<string>;
}

const alone: OtherHypervisors = { reached: [], silent: [] };

/** A hypervisor that is connected to, with the machines that are known there by name. */
export class Hypervisor {
  readonly host: string;
  /** Where it is; the same for all its names. */
  readonly place: string;
  readonly connection: LibvirtConnection;
  /** Work on a pool, one at a time: libvirt does not look at what is in a pool while something is being made there. */
  readonly pools = new NamedSlots(1);
  /** Work that changes what a machine is, one at a time. */
  readonly #machines = new NamedSlots(1);
  /** Work that keeps the daemon busy for long, such as copying disks: calls of others have to get through. */
  readonly lengthy = new NamedSlots(2);
  /** Machines as they were seen last. */
  readonly known = new Map<string, Domain>();
  readonly states = new MachineStates(this);
  /** Finds those that may have the same files, or the same machines; `known` is one that had such a machine. */
  others: (signal: AbortSignal, known?: string) => Promise<OtherHypervisors> = async () => alone;
  /** One for all hypervisors: they may have the same disks. */
  claims = new DiskClaims();
  /** Those that are at work on machines, one set for all hypervisors too. */
  requests = new Set<string>();
  /** Reports what was taken back that a request had left; the words follow the name of the machine. */
  tookBack: (name: string, words: string) => void = () => undefined;
  readonly #listeners = new Set<(event: LifecycleEvent) => void>();
  #identity: Promise<string> | undefined;

  private constructor(host: string, place: string, connection: LibvirtConnection) {
    this.host = host;
    this.place = place;
    this.connection = connection;
  }

  static async open(routes: HypervisorRoutes, host: string, route: unknown, signal: AbortSignal): Promise<Hypervisor> {
    const connection = new LibvirtConnection(await routes.open(route, signal), { where: host });
    const hypervisor = new Hypervisor(host, routes.placeOf(route), connection);
    try {
      await openDriver(connection, driverUri, { signal });
      await followDomains(connection, (event) => hypervisor.#heard(event), { signal });
    } catch (error) {
      connection.close();
      throw error;
    }
    return hypervisor;
  }

  /** Reports all that happens to its machines, until what is returned is called. */
  listen(listener: (event: LifecycleEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #heard(event: LifecycleEvent): void {
    this.known.delete(event.domain.name);
    for (const listener of this.#listeners) listener(event);
  }

  remember(domain: Domain): void {
    if (this.known.size >= mostKnown) this.known.clear();
    this.known.set(domain.name, domain);
  }

  /** Work that changes what a machine is or has, alone on it; it can claim disks. What a muster that died has begun is taken back before. */
  alone<T>(name: string, signal: AbortSignal, work: (claim: Claim, request: string) => Promise<T>): Promise<T> {
    return this.#machines.take(name, signal, async () => {
      const request = randomUUID();
      this.requests.add(request);
      try {
        const domain = await this.find(name, signal);
        if (domain) await takeBackLeftWork(this, domain, signal);
        return await this.claims.during((claim) => work(claim, request));
      } finally {
        this.requests.delete(request);
      }
    });
  }

  /** Looked up once; what happens to a machine makes it be looked up again. */
  async find(name: string, signal: AbortSignal): Promise<Domain | undefined> {
    const known = this.known.get(name);
    if (known) return known;
    const found = await findDomain(this.connection, { name }, { signal });
    if (found) this.remember(found);
    return found;
  }

  /** Whether this is the same one by another name. */
  async is(other: Hypervisor, signal: AbortSignal): Promise<boolean> {
    if (this.place === other.place) return true;
    const [here, there] = await Promise.all([this, other].map((each) => each.#identify(signal)));
    return here === there;
  }

  #identify(signal: AbortSignal): Promise<string> {
    this.#identity ??= hostIdentity(this.connection, { signal });
    this.#identity.catch(() => (this.#identity = undefined));
    return this.#identity;
  }

  lacks(name: string): never {
    throw new Fault('invalid', `there is no virtual machine ${name} on ${this.host}.`);
  }

  async machine(name: string, signal: AbortSignal): Promise<Domain> {
    const found = await this.find(name, signal);
    return found ?? this.lacks(name);
  }
}

interface Question {
  readonly names: Set<string>;
  readonly answer: Promise<ReadonlyMap<string, number>>;
}

/** As many as the daemon works on at a time; more are asked for in one call. */
const few = 4;
/** It belongs to all who have asked, so none of them ends it. */
const always = new AbortController().signal;

/** Reads the states of a hypervisor's machines: those that are asked for in one turn of the event loop are one question. */
class MachineStates {
  readonly #hypervisor: Hypervisor;
  #next: Question | undefined;

  constructor(hypervisor: Hypervisor) {
    this.#hypervisor = hypervisor;
  }

  /** One of `domainStates`; undefined where there is no such machine. */
  async read(name: string): Promise<number | undefined> {
    const question = (this.#next ??= this.#prepare());
    question.names.add(name);
    return (await question.answer).get(name);
  }

  #prepare(): Question {
    const names = new Set<string>();
    const collected = new Promise((resolve) => setImmediate(resolve));
    const answer = collected.then(() => {
      this.#next = undefined;
      return names.size > few ? this.#readMany(names) : this.#readEach(names);
    });
    return { names, answer };
  }

  async #readMany(names: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const { connection, known } = this.#hypervisor;
    const asked = [...names].flatMap((name) => known.get(name) ?? []);
    // To look for machines that are named takes the daemon longer than to list all.
    const areNamed = asked.length === names.size && asked.length * 2 < known.size;
    const found = await domainStatistics(connection, statistics.state, areNamed ? asked : [], { signal: always });
    const states = new Map<string, number>();
    for (const { domain, values } of found) {
      this.#hypervisor.remember(domain);
      states.set(domain.name, Number(values.get('state.state')));
    }
    // Another one may have the name by now.
    const missing = areNamed ? [...names].filter((name) => !states.has(name)) : [];
    for (const name of missing) known.delete(name);
    return missing.length === 0 ? states : new Map([...states, ...(await this.#readEach(new Set(missing)))]);
  }

  async #readEach(names: ReadonlySet<string>): Promise<ReadonlyMap<string, number>> {
    const states = new Map<string, number>();
    await Promise.all(
      Array.from(names, async (name) => {
        const state = await this.#readOne(name);
        if (state !== undefined) states.set(name, state);
      }),
    );
    return states;
  }

  async #readOne(name: string): Promise<number | undefined> {
    const { connection, known } = this.#hypervisor;
    const options = { signal: always };
    for (;;) {
      const isRemembered = known.has(name);
      const domain = await this.#hypervisor.find(name, always);
      if (!domain) return undefined;
      try {
        return (await domainState(connection, domain, options)).state;
      } catch (error) {
        if (!isRefusal(error, errorCodes.noDomain)) throw error;
        known.delete(name);
        // It has gone since it was looked up, as one does that is carried away.
        if (!isRemembered) return undefined;
      }
    }
  }
}
