/** So many at once, and so many a second from then on. */
interface Flow {
  readonly burst: number;
  readonly each: number;
}

const ofDevice: Flow = { burst: 30, each: 0.5 };
const ofAll: Flow = { burst: 1_000, each: 50 };

class Bucket {
  readonly #flow: Flow;
  #left: number;
  #at: number;

  constructor(flow: Flow, now: number) {
    this.#flow = flow;
    this.#left = flow.burst;
    this.#at = now;
  }

  has(now: number): boolean {
    const { burst, each } = this.#flow;
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1_000) * each);
    this.#at = now;
    return this.#left >= 1;
  }

  take(): void {
    this.#left -= 1;
  }
}

/** Keeps hardware that floods from everybody who listens: what is too much is counted and not passed on. */
export class EventRate {
  readonly #all: Bucket;
  readonly #devices = new Map<string, { readonly bucket: Bucket; leftOut: number }>();
  readonly #now: () => number;

  constructor(now = () => performance.now()) {
    this.#now = now;
    this.#all = new Bucket(ofAll, now());
  }

  /** How many of this device were left out since the last that was passed on; undefined: this one is left out too. */
  pass(device: string): number | undefined {
    const now = this.#now();
    let known = this.#devices.get(device);
    if (!known) this.#devices.set(device, (known = { bucket: new Bucket(ofDevice, now), leftOut: 0 }));
    if (!known.bucket.has(now) || !this.#all.has(now)) {
      known.leftOut++;
      return undefined;
    }
    known.bucket.take();
    this.#all.take();
    const { leftOut } = known;
    known.leftOut = 0;
    return leftOut;
  }

  forget(device: string): void {
    this.#devices.delete(device);
  }
}
