import type { Driver } from './capabilities.ts';
import { ipmiDriver } from './ipmi/index.ts';
import { kvmDriver } from './kvm/index.ts';
import { openbmcDriver } from './openbmc/index.ts';
import { redfishDriver } from './redfish/index.ts';
import type { DriverOptions } from './options.ts';

export function makeDrivers(options: DriverOptions): ReadonlyMap<string, Driver> {
  const drivers = [ipmiDriver(options), redfishDriver(options), openbmcDriver(options), kvmDriver(options)];
  return new Map(drivers.map((driver) => [driver.name, driver]));
}
