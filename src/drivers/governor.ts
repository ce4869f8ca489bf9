import { type Abortable, unwatchAbort, watchAbort } from '../core/aborts.ts';
import { Fault, Unreachable } from '../core/errors.ts';

export interface GovernorLimits {
  /** Devices worked on at a time, over all users. */
  readonly inFlight: number;
  /** Requests that may wait for one device, which may stand for many nodes. */
  readonly perDevice: number;
  /** How long a device that did not answer is left alone, in milliseconds. */
  readonly quarantine: number;
}

const defaultLimits: GovernorLimits = { inFlight: 1_024, perDevice: 512, quarantine: 10_000 };

interface Job extends Abortable {
  readonly user: string;
  readonly start: () => void;
  readonly fail: (error: unknown) => void;
}

interface Device {
  busy: boolean;
  readonly waiting: Job[];
  /** Set while the device is left alone. */
  silent: { until: number; error: Unreachable } | undefined;
}

/**
 * One command at a time per device, a bound on all, fair between users. A device that does not answer costs one deadline:
 * whoever waits for it fails with the first, and for a while nobody else waits for it.
 */
export class Governor {
  readonly #limits: GovernorLimits;
  readonly #now: () => number;
  readonly #devices = new Map<string, Device>();
  /** Jobs whose device is free but for which there is no room; users in the order of their turn. */
  readonly #ready = new Map<string, Job[]>();
  #running = 0;

  constructor(limits: Partial<GovernorLimits> = {}, now: () => number = () => performance.now()) {
    this.#limits = { ...defaultLimits, ...limits };
    this.#now = now;
  }

  /** How many devices are worked on at a time. */
  get inFlight(): number {
    return this.#limits.inFlight;
  }

  run<T>(key: string, user: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const device = this.#device(key);
    if (device.silent) {
      if (this.#now() < device.silent.until) return Promise.reject(device.silent.error);
      device.silent = undefined;
    }
    if (device.waiting.length >= this.#limits.perDevice) {
      return Promise.reject(
        new Fault('unavailable', 'too many requests wait for it; try again later.', { retryAfter: 5 }),
      );
    }
    if (!device.busy && this.#hasRoom()) {
      device.busy = true;
      return this.#perform(key, device, work);
    }
    return new Promise<T>((resolve, reject) => {
      const job: Job = {
        user,
        start: () => {
          unwatchAbort(signal, job);
          resolve(this.#perform(key, device, work));
        },
        fail: (error) => {
          unwatchAbort(signal, job);
          reject(error);
        },
        aborted: () => {
          this.#withdraw(key, device, job);
          reject(signal.reason);
        },
      };
      watchAbort(signal, job);
      if (device.busy) device.waiting.push(job);
      else {
        device.busy = true;
        this.#enqueue(job);
      }
    });
  }

  async #perform<T>(key: string, device: Device, work: () => Promise<T>): Promise<T> {
    this.#running++;
    try {
      return await work();
    } catch (error) {
      if (error instanceof Unreachable) this.#silence(device, error);
      else if (isGarbled(error)) failAll(device, error);
      throw error;
    } finally {
      this.#done(key, device);
    }
  }

  #device(key: string): Device {
    let device = this.#devices.get(key);
    if (!device) this.#devices.set(key, (device = { busy: false, waiting: [], silent: undefined }));
    return device;
  }

  #hasRoom(): boolean {
    return this.#running < this.#limits.inFlight && this.#ready.size === 0;
  }

  #enqueue(job: Job): void {
    if (this.#hasRoom()) {
      job.start();
      return;
    }
    const jobs = this.#ready.get(job.user);
    if (jobs) jobs.push(job);
    else this.#ready.set(job.user, [job]);
  }

  /** Starts what there is room for, one of each user in turn. */
  #startReady(): void {
    while (this.#running < this.#limits.inFlight) {
      const [turn] = this.#ready;
      if (!turn) return;
      const [user, jobs] = turn;
      this.#ready.delete(user);
      const job = jobs.shift()!;
      if (jobs.length > 0) this.#ready.set(user, jobs);
      job.start();
    }
  }

  #done(key: string, device: Device): void {
    this.#running--;
    this.#next(key, device);
    this.#startReady();
  }

  #next(key: string, device: Device): void {
    const job = device.waiting.shift();
    if (job) this.#enqueue(job);
    else {
      device.busy = false;
      if (!device.silent) this.#devices.delete(key);
    }
  }

  #silence(device: Device, error: Unreachable): void {
    device.silent = { until: this.#now() + this.#limits.quarantine, error };
    failAll(device, error);
    if (this.#devices.size > 100_000) this.#forgetSilent();
  }

  #forgetSilent(): void {
    for (const [key, { busy, silent }] of this.#devices)
      if (!busy && silent && silent.until < this.#now()) this.#devices.delete(key);
  }

  #withdraw(key: string, device: Device, job: Job): void {
    const waiting = device.waiting.indexOf(job);
    if (waiting >= 0) {
      device.waiting.splice(waiting, 1);
      return;
    }
    const jobs = this.#ready.get(job.user);
    const ready = jobs?.indexOf(job) ?? -1;
    if (!jobs || ready < 0) return;
    jobs.splice(ready, 1);
    if (jobs.length === 0) this.#ready.delete(job.user);
    this.#next(key, device);
  }
}

/** What cannot be understood may come only after a deadline; whoever waits would meet the same. */
const isGarbled = (error: unknown): boolean => error instanceof Fault && error.kind === 'garbled';

function failAll(device: Device, error: unknown): void {
  for (const job of device.waiting.splice(0)) job.fail(error);
}
