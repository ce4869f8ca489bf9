import type { BmcAccess } from '../bmc/target.ts';
import { type Driver, driverKind } from '../driver.ts';
import { redfishAccounts } from './accounts.ts';
import { redfishCertificates } from './certificates.ts';
import { redfishBeacon } from './beacon.ts';
import { redfishBios } from './bios.ts';
import { redfishBootSequence } from './boot-sequence.ts';
import { makeRedfishDriver, type RedfishCapabilities, type RedfishDriverOptions } from './driver.ts';
import { redfishEnergy } from './energy.ts';
import { redfishEventLog } from './event-log.ts';
import { redfishFirmware } from './firmware.ts';
import { redfishEvents } from './events.ts';
import { redfishInventory } from './inventory.ts';
import { redfishMedia } from './media.ts';
import { redfishNextBoot } from './next-boot.ts';
import { redfishPosture } from './posture.ts';
import { redfishPower } from './power.ts';
import { redfishChassisPower } from './chassis-power.ts';
import { redfishConsole } from './console.ts';
import { redfishController } from './controller.ts';
import { redfishServiceProcessor } from './service-processor.ts';
import { redfishSubnodes } from './subnodes.ts';
import type { Target } from './target.ts';
import { redfishVitals } from './vitals.ts';

export function redfishCapabilities(target: Target): RedfishCapabilities {
  return {
    power: {
      ...redfishPower(target),
      controller: redfishController(target),
      chassis: redfishChassisPower(target),
    },
    vitals: redfishVitals(target),
    inventory: redfishInventory(target),
    eventLog: redfishEventLog(target),
    hardwareEvents: redfishEvents(target),
    nextBoot: redfishNextBoot(target),
    bootSequence: redfishBootSequence(target),
    beacon: redfishBeacon(target),
    energy: redfishEnergy(target),
    serviceProcessor: redfishServiceProcessor(target),
    subnodes: redfishSubnodes(target),
    accounts: redfishAccounts(target),
    certificates: redfishCertificates(target),
    bios: redfishBios(target),
    console: redfishConsole(target),
    posture: redfishPosture(target),
    firmware: redfishFirmware(target),
    media: redfishMedia(target),
  };
}

/** Servers with a Redfish service (DMTF DSP0266), `mgt=redfish`. */
export const redfishDriver = (options: RedfishDriverOptions): Driver<BmcAccess> =>
  makeRedfishDriver({ name: 'redfish', capabilities: redfishCapabilities }, options);

export const redfish = driverKind({ settings: {}, open: (_settings, options) => redfishDriver(options) });
