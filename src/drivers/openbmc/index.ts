import type { BmcAccess } from '../bmc/target.ts';
import { type Driver, driverKind } from '../driver.ts';
import { consoleStyles } from '../bmc/console-styles.ts';
import { redfishBeacon } from '../redfish/beacon.ts';
import { consoleOnPort } from '../redfish/console.ts';
import { makeRedfishDriver, type RedfishCapabilities, type RedfishDriverOptions } from '../redfish/driver.ts';
import { redfishCapabilities } from '../redfish/index.ts';
import { redfishInventory } from '../redfish/inventory.ts';
import { redfishNextBoot } from '../redfish/next-boot.ts';
import { redfishServiceProcessor } from '../redfish/service-processor.ts';
import type { Target } from '../redfish/target.ts';
import { redfishVitals } from '../redfish/vitals.ts';
import { openbmcInventoryReaders } from './inventory.ts';
import { openbmcBeaconWords, openbmcLeds } from './lights.ts';
import { openbmcPower, openbmcPowered } from './power.ts';
import { openbmcSpReaders, openbmcSpWriters } from './service-processor.ts';

/** Where its SSH server gives the console of the machine instead of a shell. */
const consolePort = 2200;

/** Those of Redfish, with OpenBMC's own names for things. */
export function openbmcCapabilities(target: Target): RedfishCapabilities {
  return {
    ...redfishCapabilities(target),
    power: openbmcPower(target),
    vitals: redfishVitals(target, { power: openbmcPowered, leds: openbmcLeds }),
    inventory: redfishInventory(target, openbmcInventoryReaders),
    nextBoot: redfishNextBoot(target, { inactive: 'Default', none: 'Default' }),
    beacon: redfishBeacon(target, openbmcBeaconWords),
    console: consoleOnPort(target, consolePort, consoleStyles.openbmc),
    serviceProcessor: redfishServiceProcessor(target, openbmcSpReaders, openbmcSpWriters),
  };
}

/** Servers whose BMC runs OpenBMC, `mgt=openbmc`: Redfish, with OpenBMC's own names for things. */
export const openbmcDriver = (options: RedfishDriverOptions): Driver<BmcAccess> =>
  makeRedfishDriver({ name: 'openbmc', capabilities: openbmcCapabilities }, options);

export const openbmc = driverKind({ settings: {}, open: (_settings, options) => openbmcDriver(options) });
