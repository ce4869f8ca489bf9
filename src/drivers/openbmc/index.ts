import type { BmcAccess } from '../bmc/target.ts';
import type { Driver } from '../capabilities.ts';
import { makeRedfishDriver, type RedfishDriverOptions } from '../redfish/driver.ts';
import { openbmcCapabilities as capabilities } from './capabilities.ts';

/** Servers whose service processor runs OpenBMC, `mgt=openbmc`: Redfish, with OpenBMC's own names for things. */
export const openbmcDriver = (options: RedfishDriverOptions): Driver<BmcAccess> =>
  makeRedfishDriver({ name: 'openbmc', capabilities }, options);
