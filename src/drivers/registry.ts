import { type TProperties, Type } from 'typebox';
import { Count, Networks, Path, setting, type ValuesOf } from '../core/settings.ts';
import type { Driver, DriverOptions } from './driver.ts';
import { ipmi } from './ipmi/index.ts';
import { kvm } from './kvm/index.ts';
import { openbmc } from './openbmc/index.ts';
import { pdu } from './pdu/index.ts';
import { redfish } from './redfish/index.ts';

/** Every driver there is. */
const kinds = [ipmi, redfish, openbmc, kvm, pdu] as const;

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;
type SettingsOfKinds = Intersection<(typeof kinds)[number]['settings']>;

const settingsOfKinds = Object.assign({}, ...kinds.map((kind): TProperties => kind.settings)) as SettingsOfKinds;

/** Section `hardware`: what concerns several drivers, and what each has of its own. */
export const hardwareSettings = Type.Object({
  powerTimeout: setting(Count, 'seconds that a machine may take to reach the state of a power command', {
    default: 60,
    variable: 'MUSTER_POWER_TIMEOUT',
    formerly: { name: 'hardware.powerDeadline', variable: 'MUSTER_POWER_DEADLINE' },
  }),
  powerOnPerRack: setting(
    Count,
    'machines of a rack (attribute rack) that may be powered on within `hardware.powerOnInterval`; the others wait',
    {
      defaultText: 'any number',
      variable: 'MUSTER_POWER_ON_PER_RACK',
    },
  ),
  powerOnInterval: setting(
    Count,
    'seconds within which `hardware.powerOnPerRack` machines of a rack may be powered on',
    {
      default: 10,
      variable: 'MUSTER_POWER_ON_INTERVAL',
    },
  ),
  ...settingsOfKinds,
  networks: setting(Networks, 'networks of the BMCs; muster sends BMC accounts to no other address', {
    defaultText: 'any address; muster logs a warning at the start',
  }),
  firmwareTimeout: setting(Count, 'seconds that an update of firmware may take until the BMC is back', {
    default: 3_600,
  }),
  firmwareSettle: setting(Count, 'seconds in which a new version must show when an update has ended', { default: 300 }),
  flashAsk: setting(Count, 'nodes up to which `rflash` needs no confirmation', { default: 8 }),
  flashAtOnce: setting(Count, 'nodes whose firmware one `rflash` updates at the same time', { default: 32 }),
  flashFailures: setting(Count, 'nodes that may fail before `rflash` begins no more', { default: 5 }),
  certificateTimeout: setting(Count, 'seconds that a BMC may take until it shows a new certificate', { default: 120 }),
  ca: setting(Path, 'PEM file with the certificate authority that signs Redfish certificates', {
    defaultText: 'none: muster trusts the first certificate it sees',
  }),
});

/** Drivers by the value of `mgt` that picks them. */
export function makeDrivers(
  options: DriverOptions,
  settings: Partial<ValuesOf<typeof hardwareSettings>> = {},
): ReadonlyMap<string, Driver> {
  return new Map(kinds.map((kind) => kind.open(settings, options)).map((driver) => [driver.name, driver]));
}
