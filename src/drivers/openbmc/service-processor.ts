import { Fault } from '../../core/errors.ts';
import { flagAt, textAt } from '../../protocols/redfish/json.ts';
import { present } from '../redfish/labels.ts';
import { managementNetwork } from '../redfish/management-network.ts';
import { redfishSpWriters, type SpWriters } from '../redfish/service-processor.ts';
import { redfishSpReaders, type SpReader, type SpWriter } from '../redfish/sp-attributes.ts';
import { systemFor } from '../redfish/target.ts';

/** OpenBMC's words and those of ComputerSystem.PowerRestorePolicy. */
const policies: Readonly<Record<string, string>> = {
  always_on: 'AlwaysOn',
  always_off: 'AlwaysOff',
  restore: 'LastState',
};
/** ComputerSystem.Boot.AutomaticRetryConfig. */
const reboots: Readonly<Record<string, string>> = { '1': 'RetryAttempts', '0': 'Disabled' };

const wordFor = (words: Readonly<Record<string, string>>, value: string | undefined): string | undefined =>
  value === undefined ? undefined : (Object.keys(words).find((word) => words[word] === value) ?? value);

function valueFor(words: Readonly<Record<string, string>>, attribute: string, word: string): string {
  const value = Object.hasOwn(words, word) ? words[word] : undefined;
  if (value === undefined) {
    throw new Fault('invalid', `${attribute} is one of ${Object.keys(words).join(', ')}, not "${word}".`);
  }
  return value;
}

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
};

export const openbmcSpWriters: SpWriters = [
  [['autoreboot'], setAutoReboot],
  [['powerrestorepolicy'], setRestorePolicy],
  [['timesyncmethod'], setTimeSync],
  ...redfishSpWriters,
];
