import { flagAt, textAt } from '../../protocols/redfish/json.ts';
import { present } from '../redfish/labels.ts';
import { redfishSpWriters, type SpWriters } from '../redfish/service-processor.ts';
import { managementNetwork, redfishSpReaders, type SpReader, type SpWriter } from '../redfish/sp-attributes.ts';
import { systemFor } from '../redfish/target.ts';
import {
  bootMode,
  setBootMode,
  setSupplyRedundancy,
  setThermalMode,
  supplyRedundancy,
  thermalMode,
  valueFor,
  wordFor,
} from './modes.ts';

/** OpenBMC's words and those of ComputerSystem.PowerRestorePolicy. */
const policies: Readonly<Record<string, string>> = {
  always_on: 'AlwaysOn',
  always_off: 'AlwaysOff',
  restore: 'LastState',
};
/** ComputerSystem.Boot.AutomaticRetryConfig. */
const reboots: Readonly<Record<string, string>> = { '1': 'RetryAttempts', '0': 'Disabled' };

const autoReboot: SpReader = async (target, signal) => {
  const { body } = await systemFor(target, signal);
  return present(['BMC AutoReboot', wordFor(reboots, textAt(body, 'Boot', 'AutomaticRetryConfig'))]);
};

const setAutoReboot: SpWriter = async (target, { autoreboot = '' }, signal) => {
  const value = valueFor(reboots, 'autoreboot', autoreboot);
  await target.service.patch(await systemFor(target, signal), { Boot: { AutomaticRetryConfig: value } }, signal);
};

const restorePolicy: SpReader = async (target, signal) => {
  const { body } = await systemFor(target, signal);
  return present(['BMC PowerRestorePolicy', wordFor(policies, textAt(body, 'PowerRestorePolicy'))]);
};

const setRestorePolicy: SpWriter = async (target, { powerrestorepolicy = '' }, signal) => {
  const value = valueFor(policies, 'powerrestorepolicy', powerrestorepolicy);
  await target.service.patch(await systemFor(target, signal), { PowerRestorePolicy: value }, signal);
};

const timeSync: SpReader = async (target, signal) => {
  const { body } = await (await managementNetwork(target, signal)).protocols();
  const enabled = flagAt(body, 'NTP', 'ProtocolEnabled');
  return present(['BMC TimeSyncMethod', enabled === undefined ? undefined : enabled ? 'ntp' : 'manual']);
};

const setTimeSync: SpWriter = async (target, { timesyncmethod = '' }, signal) => {
  const enabled = valueFor({ ntp: 'on', manual: 'off' }, 'timesyncmethod', timesyncmethod) === 'on';
  const protocols = await (await managementNetwork(target, signal)).protocols();
  await target.service.patch(protocols, { NTP: { ProtocolEnabled: enabled } }, signal);
};

export const openbmcSpReaders: Readonly<Record<string, SpReader>> = {
  ...redfishSpReaders,
  autoreboot: autoReboot,
  powerrestorepolicy: restorePolicy,
  timesyncmethod: timeSync,
  bootmode: bootMode,
  thermalmode: thermalMode,
  powersupplyredundancy: supplyRedundancy,
};

export const openbmcSpWriters: SpWriters = [
  [['autoreboot'], setAutoReboot],
  [['powerrestorepolicy'], setRestorePolicy],
  [['timesyncmethod'], setTimeSync],
  [['bootmode'], setBootMode],
  [['thermalmode'], setThermalMode],
  [['powersupplyredundancy'], setSupplyRedundancy],
  ...redfishSpWriters,
];
