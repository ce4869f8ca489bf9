import { readFileSync } from 'node:fs';
import type { Ground } from '../access/ground.ts';
import { AddressGuard } from '../core/address-guard.ts';
import type { ValuesOf } from '../core/settings.ts';
import { ServiceProcessorTrust } from './bmc/certificate-trust.ts';
import { Devices } from './devices.ts';
import { Discovery } from './discovery.ts';
import type { Driver, RemoteHosts } from './driver.ts';
import { Governor } from './governor.ts';
import { Hardware } from './hardware.ts';
import { hardwareSettings, makeDrivers } from './registry.ts';

export { MovedFault } from './bmc/kept-settings.ts';
export type { RemoteHosts } from './driver.ts';
export {
  type BootOrder,
  type Capabilities,
  inventoryKinds,
  kindsIn,
  type Labelled,
  type MachineChange,
  type Power,
  type PowerAction,
  type ServiceProcessor,
  type Snapshots,
  vitalsKinds,
} from './capabilities.ts';
export { atLength, type DeviceTarget } from './devices.ts';
export type { Found } from './discovery.ts';
export { type Devices, type Discovery, type Hardware, hardwareSettings, type ServiceProcessorTrust };

/** Hardware as the settings say. */
export interface Drivers {
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly hardware: Hardware;
  readonly devices: Devices;
  readonly discovery: Discovery;
  readonly certificates: ServiceProcessorTrust;
  /** Where BMCs are. */
  readonly guard: AddressGuard;
}

export function openDrivers(
  settings: ValuesOf<typeof hardwareSettings>,
  { store, box }: Ground,
  hosts: RemoteHosts,
): Drivers {
  const { ca, networks, powerTimeout } = settings;
  const guard = new AddressGuard(networks);
  const certificates = new ServiceProcessorTrust(store, ca === undefined ? undefined : readFileSync(ca, 'utf8'));
  const drivers = makeDrivers({ trust: certificates, guard, powerTimeout: powerTimeout * 1_000, hosts }, settings);
  return {
    drivers,
    hardware: new Hardware(drivers, box),
    devices: new Devices(drivers, new Governor()),
    discovery: new Discovery(guard),
    certificates,
    guard,
  };
}
