import type { Fault } from './errors.ts';

/** A virtual machine as its hypervisor has it. */
export interface ListedMachine {
  readonly name: string;
  readonly uuid: string;
  /** Paused ones too. */
  readonly isOn: boolean;
}

/** Whoever wants to know what happens on a hypervisor, whoever brings it about. */
export interface HypervisorListener {
  /** All its machines, whenever it is connected to again. `place` is where the connection leads: names with the same place are one hypervisor. */
  listed(place: string, machines: readonly ListedMachine[]): void;
  /** Whether what happens to a machine of that name is of interest. */
  wants(name: string): boolean;
  /** A machine was switched on or off, and not by moving it. */
  switched(name: string, to: 'on' | 'off'): void;
  /** A machine as it is now; undefined: there is none of that name any more. */
  changed(name: string, machine: ListedMachine | undefined): void;
  /** Why nothing is reported for now. It is connected to again as soon as it can be. */
  lost(reason: Fault): void;
}
