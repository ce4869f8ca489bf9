import type { AddressGuard } from '../../core/address-guard.ts';
import type { IpmiLink } from '../../protocols/ipmi/link.ts';
import type { SdrRecord } from '../../protocols/ipmi/commands/sdr-record.ts';
import type { BmcAccess } from '../bmc/target.ts';
import type { Identity } from './identity.ts';

/** How long things may take, in milliseconds. */
export interface IpmiTimes {
  /** Until a power command has reached its state. */
  readonly powerTimeout: number;
  /** Until a service processor whose address was changed answers at the new one. */
  readonly addressTimeout: number;
  /** Before `on` after a power cycle counts when the moment off was not seen. */
  readonly cycleSettling: number;
}

/** One service processor, as the capabilities of this driver see it. */
export interface Bmc {
  readonly access: BmcAccess;
  readonly guard: AddressGuard;
  readonly link: IpmiLink;
  readonly times: IpmiTimes;
  /** The sensor data records, remembered until the service processor says that they changed. */
  records(signal: AbortSignal): Promise<readonly SdrRecord[]>;
  /** Who answers at another address and lets us in with the same account; a Fault if nobody does. */
  identityAt(address: string, signal: AbortSignal): Promise<Identity>;
}
