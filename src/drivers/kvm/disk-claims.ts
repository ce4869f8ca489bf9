import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { isDevice } from './device-paths.ts';
import type { Hypervisor } from './hypervisor.ts';
import { type Directory, mayBeOneDirectory } from './shared-storage.ts';

/** Claims disks of a hypervisor for a request, before it looks at who uses them. */
export type Claim = (hypervisor: Hypervisor, paths: readonly string[], signal: AbortSignal) => Promise<void>;

interface Claimed {
  readonly holder: symbol;
  readonly hypervisor: Hypervisor;
  readonly path: string;
}

/**
 * Disks that requests are at work on, on all hypervisors. What one request has found out of a disk, such as that nobody uses it, holds only
 * as long as no other does something with it.
 */
export class DiskClaims {
  #claimed: readonly Claimed[] = [];

  /** Does work that claims disks; they are free again when it is over. */
  async during<T>(work: (claim: Claim) => Promise<T>): Promise<T> {
    const holder = Symbol('request');
    try {
      return await work((...disks) => this.#claim(holder, ...disks));
    } finally {
      this.#claimed = this.#claimed.filter((each) => each.holder !== holder);
    }
  }

  async #claim(holder: symbol, hypervisor: Hypervisor, paths: readonly string[], signal: AbortSignal): Promise<void> {
    const earlier = this.#claimed.filter((each) => each.holder !== holder);
    const taken = paths.find((path) => earlier.some((each) => each.path === path));
    if (taken !== undefined) throw isAtWork(taken);
    // Whoever claims them from now on compares with these: of two requests only the later one fails.
    this.#claimed = [...this.#claimed, ...paths.map((path) => ({ holder, hypervisor, path }))];
    for (const path of paths.filter((each) => !isDevice(each)))
      for (const other of earlier.filter((each) => posix.basename(each.path) === posix.basename(path)))
        if (
          (await mayBeOneDirectory(directoryOf({ hypervisor, path }), directoryOf(other), signal)) &&
          this.#claimed.includes(other)
        )
          throw isAtWork(path);
  }
}

const directoryOf = ({ hypervisor, path }: Pick<Claimed, 'hypervisor' | 'path'>): Directory => ({
  hypervisor,
  path: posix.dirname(path),
});

const isAtWork = (disk: string): Fault =>
  new Fault('invalid', `another request is at work on the disk ${disk}. Repeat the command when that one is over.`);
