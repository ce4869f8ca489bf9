import { type Endpoint, RedfishService, type ServiceLimits } from './service.ts';
import type { Trust } from './trust.ts';

export { Refusal } from './faults.ts';
export type { Endpoint, Resource } from './service.ts';
export { RedfishService } from './service.ts';
export type { Trust } from './trust.ts';

export interface RedfishOptions extends Partial<ServiceLimits> {
  readonly trust: Trust;
  /** Connections kept open, used or not; beyond it unused ones are closed. Each costs about 200 KiB. */
  readonly kept?: number;
}

const defaults: ServiceLimits = {
  connectTimeout: 5_000,
  requestTimeout: 30_000,
  responseSize: 8 * 1024 * 1024,
  idle: 60_000,
};
const defaultKept = 1_500;

/** All Redfish services a process talks to. Sessions left unused are ended, and all of them by `close`. */
export class RedfishClient {
  readonly #trust: Trust;
  readonly #limits: ServiceLimits;
  readonly #kept: number;
  readonly #services = new Map<string, RedfishService>();
  readonly #open = new Set<RedfishService>();
  readonly #ending = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;

  constructor({ trust, kept = defaultKept, ...limits }: RedfishOptions) {
    this.#trust = trust;
    this.#kept = kept;
    this.#limits = { ...defaults, ...limits };
    this.#timer = setInterval(() => this.#endIdle(), this.#limits.idle / 4).unref();
  }

  /** The same one for the same endpoint, so that its connection and session are used again. */
  service(endpoint: Endpoint): RedfishService {
    const key = endpoint.key ?? `${endpoint.address} ${endpoint.port ?? ''}`;
    const known = this.#services.get(key);
    if (known && sameEndpoint(known.endpoint, endpoint)) return known;
    const service = new RedfishService(endpoint, this.#trust, this.#limits, (opened) => this.#opened(opened));
    this.#services.set(key, service);
    return service;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const services = new Set([...this.#services.values(), ...this.#open]);
    await Promise.all([...[...services].map((service) => service.close()), ...this.#ending]);
    this.#services.clear();
    this.#open.clear();
  }

  #opened(service: RedfishService): void {
    this.#open.add(service);
    if (this.#open.size <= this.#kept) return;
    for (const other of this.#open) {
      if (other.idleSince !== undefined && other !== service) return this.#end(other);
    }
  }

  #endIdle(): void {
    const limit = performance.now() - this.#limits.idle;
    for (const service of this.#open) {
      const since = service.idleSince;
      if (since !== undefined && since <= limit) this.#end(service);
    }
  }

  #end(service: RedfishService): void {
    this.#open.delete(service);
    const ending = service.end().finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }
}

function sameEndpoint(a: Endpoint, b: Endpoint): boolean {
  return a.address === b.address && a.port === b.port && a.username === b.username && a.password === b.password;
}
