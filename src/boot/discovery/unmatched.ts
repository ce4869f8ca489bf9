import { networkOf } from '../../access/addresses.ts';
import { keyOfMachine } from './adopt.ts';
import { type Machine, mostNeighbours } from './machine.ts';

/** A machine that is no node, or may not be the one it seems to be. */
export interface Unmatched {
  readonly machine: Machine;
  readonly address: string;
  readonly reason: string;
  readonly first: number;
  readonly last: number;
  readonly times: number;
}

interface Kept extends Unmatched {
  readonly network: string;
  /** About as many as it takes in memory and in an answer. */
  readonly bytes: number;
}

const most = 2_000;
/** Of all of them together; real machines take about a kilobyte each. */
const mostBytes = 4 * 1024 * 1024;
/** Machines behind a relay or a bridge have addresses of their own; whoever invents some has few. */
const mostOfNetwork = 16;
/** Those that still wait ask twice a minute. */
const forgottenAfter = 3_600_000;

/** The machines that have said who they are and wait. They repeat it, so that nothing is lost with this process. */
export class UnmatchedMachines {
  /** The one that was heard of last comes last. */
  readonly #machines = new Map<string, Kept>();
  /** Their keys by networks, in the same order. */
  readonly #ofNetwork = new Map<string, Set<string>>();
  #bytes = 0;

  note(reported: Machine, address: string, reason: string, now: number): void {
    // Switches may have seen it behind many ports.
    const machine = { ...reported, neighbours: reported.neighbours.slice(0, mostNeighbours) };
    const key = keyOfMachine(machine);
    const known = this.#machines.get(key);
    this.#remove(key);
    const network = networkOf(address);
    const bytes = JSON.stringify(machine).length + reason.length;
    this.#makeSpace(network, bytes, now);
    const first = known?.first ?? now;
    const times = (known?.times ?? 0) + 1;
    this.#machines.set(key, { machine, address, reason, first, last: now, times, network, bytes });
    this.#bytes += bytes;
    const keys = this.#ofNetwork.get(network);
    if (keys) keys.add(key);
    else this.#ofNetwork.set(network, new Set([key]));
  }

  forget(machine: Machine): void {
    this.#remove(keyOfMachine(machine));
  }

  list(now: number): Unmatched[] {
    return [...this.#machines.values()].filter(({ last }) => now - last < forgottenAfter);
  }

  /** Those that were heard of least lately give way. */
  #makeSpace(network: string, bytes: number, now: number): void {
    const ofNetwork = this.#ofNetwork.get(network);
    for (const key of ofNetwork ?? []) {
      if (ofNetwork!.size < mostOfNetwork) break;
      this.#remove(key);
    }
    for (const [key, { last }] of this.#machines) {
      const isFull = this.#machines.size >= most || this.#bytes + bytes > mostBytes;
      if (now - last < forgottenAfter && !isFull) break;
      this.#remove(key);
    }
  }

  #remove(key: string): void {
    const kept = this.#machines.get(key);
    if (!kept) return;
    this.#machines.delete(key);
    this.#bytes -= kept.bytes;
    const keys = this.#ofNetwork.get(kept.network)!;
    keys.delete(key);
    if (keys.size === 0) this.#ofNetwork.delete(kept.network);
  }
}
