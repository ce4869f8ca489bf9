import type { Fault } from './errors.ts';

/** A virtual machine as its hypervisor has it. */
export interface ListedMachine {
  readonly name: string;
  readonly uuid: string;
  /** Paused ones too. */
  readonly isOn: boolean;
}

/** What happened to a machine's power. `crashed`: its guest has panicked, or its emulator has ended by itself. */
export type Switched = 'on' | 'off' | 'crashed';

/** Whoever wants to know what happens on a hypervisor, whoever brings it about. */
export interface HypervisorListener {
  /** All its machines, whenever it is connected to again. `place` is where the connection leads: names with the same place are one hypervisor. */
  listed(place: string, machines: readonly ListedMachine[]): void;
  /** Whether what happens to a machine of that name is of interest. */
  wants(name: string): boolean;
  /** A machine was switched on or off, and not by moving it. */
  switched(name: string, to: Switched): void;
  /** A machine as it is now; undefined: there is none of that name any more. */
  changed(name: string, machine: ListedMachine | undefined): void;
  /** Whether nodes have machines there, as far as that was noted before it was connected to. */
  hasMachines(): boolean;
  /** Whether that machine is a node's, and belongs there or is on its way there. */
  owns(name: string): boolean;
  /** What work on a machine has left was taken back, as nobody else was left to do so; the words follow the name of the machine. */
  tookBack(name: string, words: string): void;
  /** Why nothing is reported for now. It is connected to again as soon as it can be. */
  lost(reason: Fault): void;
}
