import { Fault, Unreachable } from '../../core/errors.ts';
import type { HypervisorListener } from '../../core/machine-sights.ts';
import { unlessAborted, within } from '../../core/waiting.ts';
import { followHypervisor } from './following.ts';
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

  /** Keeps a connection to it from now on and has told what happens there, until what is returned is called. */
  follow(host: string, listener: HypervisorListener): () => void {
    const left = new AbortController();
    const signal = AbortSignal.any([left.signal, this.#closed.signal]);
    const connect = async (): Promise<Hypervisor> => this.at(host, await this.routeTo(host), signal);
    void followHypervisor(connect, listener, signal);
    return () => left.abort();
  }

  async close(): Promise<void> {
    this.#closed.abort(new Fault('unavailable', 'the service is being stopped.'));
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
