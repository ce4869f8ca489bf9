import { RedfishClient } from '../../protocols/redfish/client.ts';
import type { Driver } from '../capabilities.ts';
import { redfishCapabilities } from './capabilities.ts';
import { makeRedfishDriver, type RedfishDriverOptions } from './driver.ts';

/** Servers with a Redfish service (DMTF DSP0266), `mgt=redfish`. */
export function redfishDriver(options: RedfishDriverOptions): Driver {
  return makeRedfishDriver({
    name: 'redfish',
    client: new RedfishClient(options),
    powerDeadline: options.powerDeadline,
    addressDeadline: options.addressDeadline,
    guard: options.guard,
    trust: options.trust,
    capabilities: redfishCapabilities,
  });
}
