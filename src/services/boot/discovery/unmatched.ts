import { networkOf } from '../../../access/addresses.ts';
import { keyOfMachine } from './adopt.ts';
import type { Machine } from './machine.ts';

/** A machine that is no node, or may not be the one it seems to be. */
export interface Unmatched {
  readonly machine: Machine;
  readonly address: string;
  readonly reason: string;
  readonly first: number;
  readonly last: number;
  readonly times: number;
}

const most = 2_000;
/** Machines behind a relay or a bridge have addresses of their own; whoever invents some has few. */
const mostOfAddress = 16;
/** Those that still wait ask twice a minute. */
const forgottenAfter = 3_600_000;

/** The machines that have said who they are and wait. They repeat it, so that nothing is lost with this process. */
export class UnmatchedMachines {
  /** The one that was heard of last comes last. */
  readonly #machines = new Map<string, Unmatched>();

  note(machine: Machine, address: string, reason: string, now: number): void {
    const key = keyOfMachine(machine);
    const known = this.#machines.get(key);
    this.#machines.delete(key);
    this.#forget(address, now);
    const first = known?.first ?? now;
    this.#machines.set(key, { machine, address, reason, first, last: now, times: (known?.times ?? 0) + 1 });
  }

  forget(machine: Machine): void {
    this.#machines.delete(keyOfMachine(machine));
  }

  list(now: number): Unmatched[] {
    return [...this.#machines.values()].filter(({ last }) => now - last < forgottenAfter);
  }

  /** Makes room for one more. */
  #forget(address: string, now: number): void {
    for (const [key, { last }] of this.#machines) {
      if (now - last < forgottenAfter && this.#machines.size < most) break;
      this.#machines.delete(key);
    }
    const network = networkOf(address);
    const sameSource = [...this.#machines].filter(([, known]) => networkOf(known.address) === network);
    for (const [key] of sameSource.slice(0, Math.max(0, sameSource.length + 1 - mostOfAddress)))
      this.#machines.delete(key);
  }
}
