import { type TProperties, Type } from 'typebox';
import { Count, Networks, Path, setting, type ValuesOf } from '../core/settings.ts';
import type { Driver, DriverOptions } from './driver.ts';
import { ipmi } from './ipmi/index.ts';
import { kvm } from './kvm/index.ts';
import { openbmc } from './openbmc/index.ts';
import { redfish } from './redfish/index.ts';

/** Every driver there is. */
const kinds = [ipmi, redfish, openbmc, kvm] as const;

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
  ...settingsOfKinds,
  networks: setting(Networks, 'networks of the BMCs; muster sends BMC accounts to no other address', {
    defaultText: 'any address; muster logs a warning at the start',
  }),
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
