import { performance } from 'node:perf_hooks';
import { type Abortable, unwatchAbort, watchAbort } from '../core/waiting.ts';
import { Fault, NothingListens, Unreachable } from '../core/errors.ts';
import { UserQueues } from './user-queues.ts';

export interface GovernorLimits {
  /** Devices worked on at a time, over all users, that get on with their work; fewer while they take long because we are busy. */
  readonly inFlight: number;
  /** Devices besides that take long or have been silent before. */
  readonly slowInFlight: number;
  /** Milliseconds after which work takes long; whoever waits for a slot then gets its slot. */
  readonly slowAfter: number;
  /** Requests that may wait for one device, which may stand for many nodes. */
  readonly perDevice: number;
  /** How long a request waits for the device at most, in milliseconds. */
  readonly queueTimeout: number;
  /** How long a device that did not answer is not retried, in milliseconds. */
  readonly quarantine: number;
}

const defaultLimits: GovernorLimits = {
  inFlight: 1_024,
  slowInFlight: 4_096,
  slowAfter: 500,
  perDevice: 512,
  queueTimeout: 60_000,
  quarantine: 10_000,
};

/** How often it is looked whether work takes long while somebody waits for a slot, in milliseconds. */
const slowCheck = 100;
/** The part of its time this process may be at work for more to be begun: work may also take long because we are slow. */
const busy = 0.7;

/** Devices at a time before it is known how long they take, and how few there are at least: with fewer we would wait for them. */
const inFlightAtFirst = 512;
const leastInFlight = 128;

/** The weight of one piece of work among the last ones, and how many times longer than these one may take before it takes long. */
const lengthWeight = 1 / 64;
const slowerThanUsual = 3;

interface Job extends Abortable {
  readonly user: string;
  /** When it came, and how many there were for its device. */
  readonly since: number;
  readonly ahead: number;
  readonly start: () => void;
  readonly fail: (error: unknown) => void;
}

interface Device {
  /** Commands that work on it or wait for a slot to do so. */
  busy: number;
  readonly waiting: UserQueues<Job>;
  /** Runs while somebody waits. */
  timeout: NodeJS.Timeout | undefined;
  /** Set from when it did not answer until it does; it is not retried in the first part of that time. */
  silent: Silence | undefined;
}

interface Silence {
  readonly since: number;
  readonly until: number;
  readonly error: Unreachable;
}

export interface DeviceLoad {
  /** Devices. */
  readonly working: number;
  /** Commands. */
  readonly waiting: number;
  /** Devices that did not answer when they were last asked, and those of them for which nobody waits now. */
  readonly silent: number;
  readonly leftAlone: number;
}

/** Of work in flight. */
interface Slot {
  readonly since: number;
}

/**
 * As many commands at a time per device as it takes, a bound on all, users in turn both at a device and for the slots. A device that
 * does not answer costs one timeout: whoever waits for it fails with the first, and for a while nobody else waits for it. Nor do such
 * devices keep others waiting, however many they are: work that takes long gives its slot away, and what was silent before takes none.
 */
export class Governor {
  readonly #limits: GovernorLimits;
  readonly #now: () => number;
  readonly #load: () => number;
  readonly #devices = new Map<string, Device>();
  /** Jobs whose device is free but for which there is no slot. */
  readonly #ready = new UserQueues<Job>();
  /** Oldest first. */
  readonly #slots = new Set<Slot>();
  #slowInFlight = 0;
  /** Devices that may be in flight now. */
  #allowed: number;
  /** Milliseconds that work which succeeds takes of late. */
  #usualLength = 0;
  #looking: NodeJS.Timeout | undefined;

  /** `load` returns the part of its time that this process was at work since it was last asked. */
  constructor(
    limits: Partial<GovernorLimits> = {},
    now: () => number = () => performance.now(),
    load: () => number = loadMeter(),
  ) {
    this.#limits = { ...defaultLimits, ...limits };
    this.#allowed = this.#allowedAtFirst();
    this.#now = now;
    this.#load = load;
  }

  /** How much of one request may wait here, so that it alone never fills the queue of a device. */
  get queue(): number {
    return this.#limits.perDevice;
  }

  /** How many devices there is something with, and what waits. */
  get load(): DeviceLoad {
    const now = this.#now();
    let [working, waiting, silent, avoided] = [0, this.#ready.size, 0, 0];
    for (const device of this.#devices.values()) {
      if (device.busy > 0) working++;
      waiting += device.waiting.size;
      if (!device.silent) continue;
      silent++;
      if (now < device.silent.until) avoided++;
    }
    return { working, waiting, silent, leftAlone: avoided };
  }

  /** `width`: how many may work on the device at once. */
  run<T>(key: string, user: string, signal: AbortSignal, work: () => Promise<T>, width = 1): Promise<T> {
    if (signal.aborted) return Promise.reject(signal.reason);
    const device = this.#device(key);
    if (device.silent && this.#now() < device.silent.until)
      return Promise.reject(notRetried(device.silent, this.#now()));
    if (device.waiting.size >= this.#limits.perDevice) {
      const other = device.waiting.makeRoomFor(user);
      if (!other) return Promise.reject(tooMany());
      other.fail(tooMany());
    }
    const isFree = device.busy < width;
    if (isFree && this.#hasSlot(device)) {
      device.busy++;
      return this.#perform(key, device, work);
    }
    return new Promise<T>((resolve, reject) => {
      const job: Job = {
        user,
        since: this.#now(),
        ahead: device.waiting.size + device.busy,
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
      if (isFree) {
        device.busy++;
        this.#enqueue(device, job);
      } else {
        device.waiting.add(job);
        device.timeout ??= this.#endWaitsLater(device, this.#limits.queueTimeout);
      }
    });
  }

  async #perform<T>(key: string, device: Device, work: () => Promise<T>): Promise<T> {
    const slot: Slot = { since: this.#now() };
    if (this.#isSlowFromTheStart(device)) this.#slowInFlight++;
    else this.#slots.add(slot);
    try {
      const result = await work();
      device.silent = undefined;
      this.#noteLength(this.#now() - slot.since);
      return result;
    } catch (error) {
      if (error instanceof Unreachable && !(error instanceof NothingListens)) this.#silence(device, error);
      else {
        device.silent = undefined;
        if (isGarbled(error)) failAll(device, error);
      }
      throw error;
    } finally {
      if (!this.#slots.delete(slot)) this.#slowInFlight--;
      this.#next(key, device);
      this.#startReady();
    }
  }

  #noteLength(length: number): void {
    const weight = this.#usualLength === 0 ? 1 : lengthWeight;
    this.#usualLength += weight * (length - this.#usualLength);
  }

  #device(key: string): Device {
    let device = this.#devices.get(key);
    if (!device) this.#devices.set(key, (device = newDevice()));
    return device;
  }

  #endWaitsLater(device: Device, milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#endWaits(device), milliseconds).unref();
  }

  /** Those who have waited too long for their device give up. */
  #endWaits(device: Device): void {
    const { queueTimeout } = this.#limits;
    const now = this.#now();
    for (const job of device.waiting.takeUntil(({ since }) => now - since < queueTimeout))
      job.fail(waitedTooLong(job, queueTimeout));
    const oldest = device.waiting.heads().reduce((least, { since }) => Math.min(least, since), now);
    device.timeout = device.waiting.size > 0 ? this.#endWaitsLater(device, oldest + queueTimeout - now) : undefined;
  }

  #hasSlot(device: Device): boolean {
    if (this.#isSlowFromTheStart(device)) return true;
    return this.#slots.size < this.#allowed && this.#ready.size === 0;
  }

  #isSlowFromTheStart({ silent }: Device): boolean {
    return silent !== undefined && this.#slowInFlight < this.#limits.slowInFlight;
  }

  #enqueue(device: Device, job: Job): void {
    if (this.#hasSlot(device)) {
      job.start();
      return;
    }
    this.#ready.add(job);
    this.#lookLater();
  }

  /** Starts what there are slots for. */
  #startReady(): void {
    while (this.#slots.size < this.#allowed) {
      const job = this.#ready.next();
      if (!job) return;
      job.start();
    }
  }

  #lookLater(): void {
    if (this.#looking !== undefined) return;
    this.#load();
    this.#looking = setTimeout(() => this.#freeSlots(), Math.min(slowCheck, this.#limits.slowAfter)).unref();
  }

  /** Takes the slots of those who take long, as long as somebody waits for one. */
  #freeSlots(): void {
    this.#looking = undefined;
    const isBusy = this.#load() >= busy;
    this.#allowed = isBusy ? this.#allowedWhileBusy() : this.#limits.inFlight;
    if (!isBusy) {
      // Where all work takes long, more of it at once would not be done sooner.
      const before = this.#now() - Math.max(this.#limits.slowAfter, slowerThanUsual * this.#usualLength);
      for (const slot of this.#slots) {
        if (slot.since > before || this.#slowInFlight >= this.#limits.slowInFlight) break;
        this.#slots.delete(slot);
        this.#slowInFlight++;
      }
      this.#startReady();
    }
    if (this.#ready.size > 0) this.#lookLater();
    else this.#allowed = this.#allowedAtFirst();
  }

  #allowedAtFirst(): number {
    return Math.min(this.#limits.inFlight, inFlightAtFirst);
  }

  /** What is in flight keeps memory: where it takes long only because we are slow, as much is done with less of it at once. */
  #allowedWhileBusy(): number {
    const { inFlight, slowAfter } = this.#limits;
    if (this.#usualLength === 0) return this.#allowed;
    const share = Math.min(1, slowAfter / this.#usualLength);
    return Math.max(Math.ceil(inFlight * share), Math.min(inFlight, leastInFlight));
  }

  #next(key: string, device: Device): void {
    const job = device.waiting.next();
    if (job) this.#enqueue(device, job);
    else {
      clearTimeout(device.timeout);
      device.timeout = undefined;
      device.busy--;
      if (device.busy === 0 && !device.silent) this.#devices.delete(key);
    }
  }

  #silence(device: Device, error: Unreachable): void {
    const since = this.#now();
    device.silent = { since, until: since + this.#limits.quarantine, error };
    failAll(device, error);
    if (this.#devices.size > 100_000) this.#forgetSilent();
  }

  #forgetSilent(): void {
    for (const [key, device] of this.#devices)
      if (device.busy === 0 && device.silent && device.silent.until < this.#now()) this.#devices.delete(key);
  }

  #withdraw(key: string, device: Device, job: Job): void {
    if (device.waiting.remove(job)) return;
    if (this.#ready.remove(job)) this.#next(key, device);
  }
}

const newDevice = (): Device => ({ busy: 0, waiting: new UserQueues(), timeout: undefined, silent: undefined });

const seconds = (milliseconds: number): number => Math.ceil(milliseconds / 1_000);

/** The error of who asks for a device that has just been silent: nothing was sent for it. */
function notRetried({ since, until, error }: Silence, now: number): Unreachable {
  const [left, ago] = [until - now, seconds(now - since)];
  const end = new Date(Date.now() + left).toISOString().slice(11, 19);
  const sentence = `${error.message.replace(/\.$/, '')}; that was ${ago} s ago, and it is not retried before ${end} UTC.`;
  return new Unreachable(sentence, {
    retryAfter: seconds(left),
    cause: error,
    ...(error instanceof Fault && error.reference ? { reference: error.reference } : {}),
  });
}

function waitedTooLong({ ahead }: Job, wait: number): Fault {
  const others = ahead === 1 ? 'one other request' : `${ahead} other requests`;
  return new Fault(
    'unavailable',
    `its turn did not come within ${seconds(wait)} s: ${others} for the same device came first. Try again later.`,
    { retryAfter: seconds(wait) },
  );
}

const tooMany = (): Fault =>
  new Fault('unavailable', 'too many requests are waiting for it; try again later.', { retryAfter: 5 });

/** What cannot be understood may come only after a timeout; whoever waits would meet the same. */
const isGarbled = (error: unknown): boolean => error instanceof Fault && error.kind === 'garbled';

function failAll(device: Device, error: unknown): void {
  for (const job of device.waiting.takeAll()) job.fail(error);
}

function loadMeter(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
