import { Fault, Unreachable } from '../../core/errors.ts';
import type { HypervisorListener, ListedMachine } from '../../core/hypervisor-listener.ts';
import { pause, unlessAborted, within } from '../../core/waiting.ts';
import {
  domainStates,
  domainStatistics,
  type LifecycleEvent,
  lifecycles,
  startReasons,
  statistics,
  stopReasons,
} from '../../protocols/libvirt/calls/domains.ts';
import { Hypervisor } from './hypervisor.ts';
import type { HypervisorRoutes } from './routes.ts';

/** Milliseconds until a daemon must have answered the first calls. */
const usualTimeout = 20_000;

/** Connections to hypervisors: one each, opened once for all who wait for it, and kept. */
export class Hypervisors {
  readonly #routes: HypervisorRoutes;
  readonly #openTimeout: number;
  readonly #finding = new Map<string, Promise<unknown>>();
  readonly #opened = new Map<string, Promise<Hypervisor>>();
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
    const key = `${host} ${JSON.stringify(route)}`;
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
    void followHypervisor(connect, listener, signal);
    return () => left.abort();
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
      opened.connection.onEnd = forget;
      if (!opened.connection.isOpen) forget();
      return opened;
    } catch (error) {
      forget();
      if (!(error instanceof Unreachable)) throw error;
      throw new Unreachable(error.message, { cause: error, reference: [`Cannot communicate via libvirt to ${host}`] });
    }
  }
}

const firstPause = 500;
const longestPause = 120_000;

const isOn = (state: number): boolean => state !== domainStates.off && state !== domainStates.crashed;

/** Reports what happens on a hypervisor until the signal says that it is enough. */
async function followHypervisor(
  connect: (signal: AbortSignal) => Promise<Hypervisor>,
  listener: HypervisorListener,
  signal: AbortSignal,
): Promise<void> {
  for (let wait = firstPause; !signal.aborted; wait = Math.min(wait * 2, longestPause)) {
    try {
      const hypervisor = await connect(signal);
      const missed = Promise.withResolvers<Fault>();
      // Before the list is made, so that nothing is missed in between.
      const leave = hypervisor.listen(teller(hypervisor, listener, missed.resolve));
      try {
        listener.listed(...(await listOf(hypervisor, signal)));
        wait = firstPause;
        listener.lost(await unlessAborted(Promise.race([hypervisor.connection.ended, missed.promise]), signal));
      } finally {
        leave();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Fault)) throw error;
      listener.lost(error);
    }
    await pause(wait, signal).catch(() => undefined);
  }
}

async function listOf(
  { connection, place }: Hypervisor,
  signal: AbortSignal,
): Promise<[place: string, ListedMachine[]]> {
  const all = await domainStatistics(connection, statistics.state, [], { signal });
  const machines = all.map(({ domain: { name, uuid }, values }) => ({
    name,
    uuid,
    isOn: isOn(Number(values.get('state.state'))),
  }));
  return [place, machines];
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

function switchedTo({ event, detail }: LifecycleEvent): 'on' | 'off' | undefined {
  if (event === lifecycles.started && detail !== startReasons.migrated) return 'on';
  if (event === lifecycles.stopped && detail !== stopReasons.migrated) return 'off';
  return undefined;
}
