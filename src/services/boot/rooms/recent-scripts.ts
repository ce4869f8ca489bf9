import type { Snapshot } from '../../../database/snapshot.ts';
import type { Found } from './found.ts';

interface Made {
  readonly snapshot: Snapshot;
  readonly at: number;
  readonly found: Promise<Found | undefined>;
}

/** Milliseconds: as long as nobody looks whether the pack in use is another one. */
const fresh = 1_000;
const most = 10_000;

/** Scripts that were made from the same snapshot a moment ago: firmware asks again when it does not hear an answer at once. */
export class RecentScripts {
  readonly #made = new Map<string, Made>();

  get(key: string, snapshot: Snapshot, make: () => Promise<Found | undefined>): Promise<Found | undefined> {
    const now = Date.now();
    const known = this.#made.get(key);
    if (known?.snapshot === snapshot && known.at + fresh > now) return known.found;
    const found = make();
    this.#made.delete(key);
    this.#forget(now);
    this.#made.set(key, { snapshot, at: now, found });
    found.then(
      (made) => made?.node === undefined && this.#made.delete(key),
      () => this.#made.delete(key),
    );
    return found;
  }

  get size(): number {
    return this.#made.size;
  }

  /** The oldest come first. What is not fresh must go: it holds the whole database of its moment. */
  #forget(now: number): void {
    for (const [key, { at }] of this.#made) {
      if (at + fresh > now && this.#made.size < most) return;
      this.#made.delete(key);
    }
  }
}
