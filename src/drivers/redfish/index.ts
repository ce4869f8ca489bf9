import { RedfishClient, type RedfishOptions } from '../../protocols/redfish/client.ts';
import type { Driver } from '../capabilities.ts';
import type { DriverOptions } from '../options.ts';
import { redfishCapabilities } from './capabilities.ts';
import { makeRedfishDriver } from './driver.ts';

/** Servers with a Redfish service (DMTF DSP0266), `mgt=redfish`. */
export function redfishDriver(options: DriverOptions & Partial<Omit<RedfishOptions, 'trust'>>): Driver {
  return makeRedfishDriver({
    name: 'redfish',
    passwdKey: 'redfish',
    client: new RedfishClient(options),
    powerDeadline: options.powerDeadline,
    capabilities: redfishCapabilities,
  });
}
