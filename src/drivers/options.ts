import type { AddressGuard } from '../core/address-guard.ts';
import type { Trust } from '../protocols/redfish/client.ts';
import type { Hypervisors } from './kvm/hypervisors.ts';

/** What drivers are made with; each takes what it needs. */
export interface DriverOptions {
  /** Certificates of service processors, by node. */
  readonly trust: Trust;
  /** Where service processors are; without it anywhere. */
  readonly guard?: AddressGuard;
  /** How long a BMC may be silent over IPMI, in milliseconds; without it as long as the protocol says. */
  readonly ipmiTimeout?: number;
  /** IPMI cipher suites that may be used, in the order in which they are tried. */
  readonly ipmiSuites?: readonly (17 | 3)[];
  /** How long a power command may take to reach its state, in milliseconds. */
  readonly powerTimeout: number;
  /** What runs virtual machines; without it the processor itself. */
  readonly accelerator?: 'kvm' | 'qemu';
  /** Of virtual machines; without it this machine is the only one. */
  readonly hypervisors?: Hypervisors;
}
