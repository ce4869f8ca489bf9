import type { Capabilities, Driver, Offered } from '../capabilities.ts';
import type { Accelerator } from './definition.ts';
import { Hypervisors } from './hypervisors.ts';
import { kvmInventory } from './inventory.ts';
import type { KvmAccess, Machine } from './machine.ts';
import { machineAttributes } from './machine-settings.ts';
import { kvmNextBoot } from './next-boot.ts';
import { kvmPower } from './power.ts';
import { kvmSnapshots } from './snapshots.ts';
import { kvmSubnodes } from './subnodes.ts';
import { kvmVirtualMachine } from './virtual-machine.ts';
import { kvmVitals } from './vitals.ts';
import { onlyHere } from './ways.ts';

export interface KvmDriverOptions {
  /** How long a power command may take to reach its state, in milliseconds. */
  readonly powerTimeout: number;
  /** What runs machines. Default: the processor itself. */
  readonly accelerator?: Accelerator | undefined;
  /** Default: this machine is the only hypervisor. */
  readonly hypervisors?: Hypervisors | undefined;
}

/** Commands that one hypervisor works on at a time: no more than its daemon takes from one client. */
const width = 5;

const offers = [
  'power',
  'nextBoot',
  'inventory',
  'vitals',
  'virtualMachine',
  'snapshots',
  'subnodes',
] as const satisfies readonly (keyof Capabilities)[];

class KvmCapabilities implements Offered<typeof offers> {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  get power() {
    return kvmPower(this.#machine);
  }

  get nextBoot() {
    return kvmNextBoot(this.#machine);
  }

  get inventory() {
    return kvmInventory(this.#machine);
  }

  get vitals() {
    return kvmVitals(this.#machine);
  }

  get virtualMachine() {
    return kvmVirtualMachine(this.#machine);
  }

  get snapshots() {
    return kvmSnapshots(this.#machine);
  }

  get subnodes() {
    return kvmSubnodes(this.#machine);
  }
}

/** Virtual machines on libvirt: a node's machine has the node's name. */
export function kvmDriver({
  powerTimeout,
  accelerator = 'kvm',
  hypervisors = new Hypervisors(onlyHere()),
}: KvmDriverOptions): Driver<KvmAccess> {
  return {
    name: 'kvm',
    offers,
    attributes: ['vmhost', ...machineAttributes],
    async target({ name, attributes: { vmhost, ...attributes } }) {
      const host = vmhost ?? name;
      const way = await hypervisors.wayTo(host);
      return {
        device: `kvm ${host}`,
        width,
        joinsReadings: true,
        access: { node: name, host: vmhost, attributes, way },
      };
    },
    connect: (access) => new KvmCapabilities({ access, hypervisors, powerTimeout, accelerator }),
    close: () => hypervisors.close(),
  };
}
