import { RedfishClient, type RedfishOptions } from '../../protocols/redfish/client.ts';
import type { Driver } from '../capabilities.ts';
import type { DriverOptions } from '../options.ts';
import { redfishCapabilities } from '../redfish/capabilities.ts';
import { makeRedfishDriver } from '../redfish/driver.ts';
import { redfishInventory } from '../redfish/inventory.ts';
import { redfishServiceProcessor } from '../redfish/service-processor.ts';
import { openbmcInventoryReaders } from './inventory.ts';
import { openbmcSpReaders, openbmcSpWriters } from './service-processor.ts';

/** Servers whose service processor runs OpenBMC, `mgt=openbmc`: Redfish, with OpenBMC's own names for things. */
export function openbmcDriver(options: DriverOptions & Partial<Omit<RedfishOptions, 'trust'>>): Driver {
  return makeRedfishDriver({
    name: 'openbmc',
    passwdKey: 'openbmc',
    client: new RedfishClient(options),
    powerDeadline: options.powerDeadline,
    capabilities: (target) => ({
      ...redfishCapabilities(target),
      inventory: redfishInventory(target, openbmcInventoryReaders),
      serviceProcessor: redfishServiceProcessor(target, openbmcSpReaders, openbmcSpWriters),
    }),
  });
}
