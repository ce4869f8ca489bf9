import { RedfishClient } from '../../protocols/redfish/client.ts';
import type { Driver } from '../capabilities.ts';
import { makeRedfishDriver, type RedfishDriverOptions } from '../redfish/driver.ts';
import { openbmcCapabilities } from './capabilities.ts';

/** Servers whose service processor runs OpenBMC, `mgt=openbmc`: Redfish, with OpenBMC's own names for things. */
export function openbmcDriver(options: RedfishDriverOptions): Driver {
  return makeRedfishDriver({
    name: 'openbmc',
    client: new RedfishClient(options),
    powerDeadline: options.powerDeadline,
    addressDeadline: options.addressDeadline,
    guard: options.guard,
    trust: options.trust,
    capabilities: openbmcCapabilities,
  });
}
