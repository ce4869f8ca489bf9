import type { BmcAccess } from '../bmc/target.ts';
import type { Driver } from '../capabilities.ts';
import { redfishCapabilities as capabilities } from './capabilities.ts';
import { makeRedfishDriver, type RedfishDriverOptions } from './driver.ts';

/** Servers with a Redfish service (DMTF DSP0266), `mgt=redfish`. */
export const redfishDriver = (options: RedfishDriverOptions): Driver<BmcAccess> =>
  makeRedfishDriver({ name: 'redfish', capabilities }, options);
