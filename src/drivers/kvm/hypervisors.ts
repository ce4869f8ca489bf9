import { Fault, NothingListens, Unreachable } from '../../core/errors.ts';
import type { HypervisorListener, ListedMachine, Switched } from '../../core/hypervisor-listener.ts';
import { pause, unlessAborted, within } from '../../core/waiting.ts';
import {
  type Domain,
  domainStates,
  domainStatistics,
  type LifecycleEvent,
  lifecycles,
  startReasons,
  statistics,
  stopReasons,
} from '../../protocols/libvirt/calls/domains.ts';
import type { Parameters } from '../../protocols/libvirt/wire.ts';
import { DiskClaims } from './disk-claims.ts';
import { Hypervisor, type OtherHypervisors, type SilentHypervisor } from './hypervisor.ts';
import { isLeftPaused, resumeLeft } from './left-paused.ts';
import type { HypervisorRoutes } from './routes.ts';
import { hasLeftWork } from './unfinished-work.ts';

/** Milliseconds until a daemon must have answered the first calls. */
const usualTimeout = 20_000;
/** Milliseconds for a hypervisor that is asked about the machines and disks of another. */
const askTimeout = 20_000;

/** A hypervisor that is followed, with the UUIDs of its machines by their names; undefined: it was never connected to. */
interface Followed {
  readonly host: string;
  machines: Map<string, string> | undefined;
  /** Before it was connected to: whether nodes are known to have machines there. */
  hasMachines(): boolean;
  /** Ends its rest before the next attempt to connect. */
  wake(): void;
}

/** Connections to hypervisors: one each, opened once for all who wait for it, and kept. */
export class Hypervisors {
  readonly #routes: HypervisorRoutes;
  readonly #openTimeout: number;
  readonly #finding = new Map<string, Promise<unknown>>();
  readonly #opened = new Map<string, Promise<Hypervisor>>();
  readonly #followed = new Set<Followed>();
  readonly #claims = new DiskClaims();
  readonly #requests = new Set<string>();
  readonly #closed = new AbortController();

  constructor(routes: HypervisorRoutes, openTimeout = usualTimeout) {
    this.#routes = routes;
    this.#openTimeout = openTimeout;
  }

  /** Found once for all who ask at the same time, as the nodes of one command do. */
  routeTo(host: string): Promise<unknown> {
    let finding = this.#finding.get(host);
    if (!finding) {
      finding = this.#routes.find(host).finally(() => this.#finding.delete(host));
      this.#finding.set(host, finding);
    }
    return finding;
  }

  at(host: string, route: unknown, signal: AbortSignal): Promise<Hypervisor> {
    return this.#at(`${host} ${JSON.stringify(route)}`, host, route, signal);
  }

  /** The same over a connection that no command uses: what machines print does not hold up answers. */
  forConsoles(host: string, route: unknown, signal: AbortSignal): Promise<Hypervisor> {
    return this.#at(`${host} ${JSON.stringify(route)} for consoles`, host, route, signal);
  }

  #at(key: string, host: string, route: unknown, signal: AbortSignal): Promise<Hypervisor> {
    let opened = this.#opened.get(key);
    if (!opened) {
      this.#opened.set(key, (opened = this.#open(key, host, route)));
      // Whoever asked for it may have gone by then.
      opened.catch(() => undefined);
    }
    return unlessAborted(opened, signal);
  }

  /** Keeps a connection to it from now on and reports what happens there, until what is returned is called. */
  follow(host: string, listener: HypervisorListener): () => void {
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, this.#closed.signal]);
    const connect = async (): Promise<Hypervisor> => this.at(host, await this.routeTo(host), signal);
    const hasMachines = (): boolean => listener.hasMachines();
    const followed: Followed = { host, machines: undefined, hasMachines, wake: () => undefined };
    this.#followed.add(followed);
    void followHypervisor(connect, remembering(followed, listener), (rest) => resting(followed, rest, signal), signal);
    return () => {
      this.#followed.delete(followed);
      left.abort();
    };
  }

  async #others(than: Hypervisor, signal: AbortSignal, known?: string): Promise<OtherHypervisors> {
    const reached: Hypervisor[] = [];
    const silent: SilentHypervisor[] = [];
    const ask = async ({ host, machines, hasMachines }: Followed): Promise<void> => {
      const late = (): Fault => new Unreachable(`libvirt on ${host} did not answer within ${askTimeout / 1_000} s.`);
      try {
        const found = await within(askTimeout, late, signal, async (inTime) => {
          const opened = await this.at(host, await this.routeTo(host), inTime);
          return (await opened.is(than, inTime)) ? undefined : opened;
        });
        if (found) reached.push(found);
      } catch (error) {
        if (signal.aborted || !(error instanceof Fault)) throw error;
        // One that was never there may be a name that does not exist.
        const isInUse = machines ? machines.size > 0 : hasMachines();
        if (isInUse || host === known) silent.push({ host, reason: error, uuids: new Set(machines?.values()) });
      }
    };
    const asked = new Map([...this.#followed].map((followed) => [followed.host, followed]));
    if (known !== undefined && !asked.has(known))
      asked.set(known, { host: known, machines: undefined, hasMachines: () => true, wake: () => undefined });
    asked.delete(than.host);
    await Promise.all([...asked.values()].map((followed) => ask(followed)));
    return { reached, silent };
  }

  async close(): Promise<void> {
    this.#closed.abort(new Fault('unavailable', 'muster is shutting down; try again shortly.'));
    const all = await Promise.allSettled(this.#opened.values());
    for (const each of all) if (each.status === 'fulfilled') each.value.connection.close();
  }

  /** It belongs to all who wait, so none of them ends it. */
  async #open(key: string, host: string, route: unknown): Promise<Hypervisor> {
    const forget = (): void => void this.#opened.delete(key);
    const late = (): Fault =>
      new Unreachable(`libvirt on ${host} was not ready within ${this.#openTimeout / 1_000} s.`);
    try {
      const opened = await within(this.#openTimeout, late, this.#closed.signal, (signal) =>
        unlessAborted(Hypervisor.open(this.#routes, host, route, signal), signal),
      );
      opened.others = (signal, known) => this.#others(opened, signal, known);
      opened.claims = this.#claims;
      opened.requests = this.#requests;
      opened.connection.onEnd = forget;
      if (!opened.connection.isOpen) forget();
      for (const followed of this.#followed) if (followed.host === host) followed.wake();
      return opened;
    } catch (error) {
      forget();
      if (!(error instanceof Unreachable)) throw error;
      const Kind = error instanceof NothingListens ? NothingListens : Unreachable;
      throw new Kind(error.message, { cause: error, reference: [`Cannot communicate via libvirt to ${host}`] });
    }
  }
}

/** What is known of a hypervisor stays known while it does not answer. */
const remembering = (followed: Followed, listener: HypervisorListener): HypervisorListener => ({
  hasMachines: () => listener.hasMachines(),
  owns: (name) => listener.owns(name),
  tookBack: (name, words) => listener.tookBack(name, words),
  listed(place, machines) {
    followed.machines = new Map(machines.map(({ name, uuid }) => [name, uuid]));
    listener.listed(place, machines);
  },
  wants: (name) => listener.wants(name),
  switched: (name, to) => listener.switched(name, to),
  changed(name, machine) {
    if (machine) followed.machines?.set(name, machine.uuid);
    else followed.machines?.delete(name);
    listener.changed(name, machine);
  },
  lost: (reason) => listener.lost(reason),
});

/** A request may have found out earlier that it is there again. */
async function resting(followed: Followed, milliseconds: number, signal: AbortSignal): Promise<void> {
  const woken = new AbortController();
  followed.wake = () => woken.abort();
  await pause(milliseconds, AbortSignal.any([woken.signal, signal])).catch(() => undefined);
}

const firstPause = 500;
const longestPause = 120_000;

const isOn = (state: number): boolean => state !== domainStates.off && state !== domainStates.crashed;

/** Reports what happens on a hypervisor until the signal says that it is enough. */
async function followHypervisor(
  connect: (signal: AbortSignal) => Promise<Hypervisor>,
  listener: HypervisorListener,
  rest: (milliseconds: number) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  for (let wait = firstPause; !signal.aborted; wait = Math.min(wait * 2, longestPause)) {
    try {
      const hypervisor = await connect(signal);
      const missed = Promise.withResolvers<Fault>();
      // Before the list is made, so that nothing is missed in between.
      const leave = hypervisor.listen(teller(hypervisor, listener, missed.resolve));
      try {
        hypervisor.tookBack = (name, words) => listener.tookBack(name, words);
        const { machines, loaded, paused } = await listOf(hypervisor, signal);
        listener.listed(hypervisor.place, machines);
        wait = firstPause;
        await resumeLeft(hypervisor, paused, listener, signal);
        await takeBackLeft(hypervisor, loaded, listener, signal);
        listener.lost(await unlessAborted(Promise.race([hypervisor.connection.ended, missed.promise]), signal));
      } finally {
        leave();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault)) throw error;
      listener.lost(error);
    }
    await rest(wait);
  }
}

async function listOf(
  { connection }: Hypervisor,
  signal: AbortSignal,
): Promise<{
  readonly machines: readonly ListedMachine[];
  readonly loaded: readonly Domain[];
  readonly paused: readonly Domain[];
}> {
  const all = await domainStatistics(connection, statistics.state, [], { signal });
  const machines = all.map(({ domain: { name, uuid }, values }) => ({
    name,
    uuid,
    isOn: isOn(Number(values.get('state.state'))),
  }));
  const those = (are: (state: Parameters) => boolean): readonly Domain[] =>
    all.filter(({ values }) => are(values)).map(({ domain }) => domain);
  return { machines, loaded: those((values) => isOn(Number(values.get('state.state')))), paused: those(isLeftPaused) };
}

/** Of machines of nodes, what requests have left that nobody ends any more. */
async function takeBackLeft(
  hypervisor: Hypervisor,
  loaded: readonly Domain[],
  listener: Pick<HypervisorListener, 'owns'>,
  signal: AbortSignal,
): Promise<void> {
  // Whoever is alone on a machine takes it back first.
  for (const domain of loaded.filter(({ name }) => listener.owns(name)))
    if (await hasLeftWork(hypervisor, domain, signal))
      await hypervisor.alone(domain.name, signal, async () => undefined);
}

/**
 * The order of events does not show what is there in the end: that is looked at, after the last of them. What could not be looked at is
 * missed, and only a new list shows it.
 */
function teller(
  hypervisor: Hypervisor,
  listener: HypervisorListener,
  missed: (reason: Fault) => void,
): (event: LifecycleEvent) => void {
  /** Events that a look is under way for, by machine: answers may come in another order than the questions. */
  const latest = new Map<string, LifecycleEvent>();
  const look = async (event: LifecycleEvent): Promise<void> => {
    const { name } = event.domain;
    latest.set(name, event);
    const state = await hypervisor.states.read(name);
    if (latest.get(name) !== event) return;
    latest.delete(name);
    const domain = state === undefined ? undefined : hypervisor.known.get(name);
    listener.changed(name, domain && { name, uuid: domain.uuid, isOn: isOn(state!) });
  };
  return (event) => {
    if (!listener.wants(event.domain.name)) return;
    const to = switchedTo(event);
    if (to) listener.switched(event.domain.name, to);
    look(event).catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error;
      missed(error);
    });
  };
}

function switchedTo({ event, detail }: LifecycleEvent): Switched | undefined {
  if (event === lifecycles.started && detail !== startReasons.migrated) return 'on';
  if (event === lifecycles.crashed || (event === lifecycles.stopped && detail === stopReasons.failed)) return 'crashed';
  // That it crashed was an event before.
  const isSaid = detail === stopReasons.migrated || detail === stopReasons.crashed;
  return event === lifecycles.stopped && !isSaid ? 'off' : undefined;
}
