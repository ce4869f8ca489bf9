import { Fault } from '../../core/errors.ts';
import { flagAt, listAt, numberAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { type Line, message, present } from './labels.ts';
import { currentAddress, managementNetwork } from './management-network.ts';
import type { Target } from './target.ts';

export type SpReader = (target: Target, signal: AbortSignal) => Promise<readonly Line[]>;
export type SpWriter = (
  target: Target,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Written | void>;

export interface Written {
  /** What the user has to do now, if anything. */
  readonly notes?: readonly Line[];
  /** Where the service is now, if it has moved. */
  readonly moved?: Target;
}

const addressPart =
  (label: string, member: string): SpReader =>
  async (target, signal) => {
    const { body } = await (await managementNetwork(target, signal)).port();
    return present([label, textAt(currentAddress(body), member)]);
  };

const mac: SpReader = async (target, signal) => {
  const { body } = await (await managementNetwork(target, signal)).port();
  return present(['BMC MAC', (textAt(body, 'MACAddress') ?? textAt(body, 'PermanentMACAddress'))?.toLowerCase()]);
};

const vlan: SpReader = async (target, signal) => {
  const { body } = await (await managementNetwork(target, signal)).port();
  if (flagAt(body, 'VLAN', 'VLANEnable') !== true) return [[message, 'BMC VLAN disabled']];
  return present(['BMC VLAN ID', numberAt(body, 'VLAN', 'VLANId')]);
};

const hostname: SpReader = async (target, signal) => {
  const network = await managementNetwork(target, signal);
  const own = textAt((await network.port()).body, 'HostName');
  return present(['BMC Hostname', own ?? textAt((await network.protocols()).body, 'HostName')]);
};

const ntp: SpReader = async (target, signal) => {
  const { body } = await (await managementNetwork(target, signal)).protocols();
  return present(['BMC NTP Servers', textsAt(body, 'NTP', 'NTPServers').join(',') || 'None']);
};

const community: SpReader = async (target, signal) => {
  const { body } = await (await managementNetwork(target, signal)).protocols();
  const [first] = listAt(body, 'SNMP', 'CommunityStrings');
  return present(['SP SNMP Community', textAt(first, 'CommunityString')]);
};

/** What can be read, with the labels of the reference system. */
export const redfishSpReaders: Readonly<Record<string, SpReader>> = {
  ip: addressPart('BMC IP', 'Address'),
  netmask: addressPart('BMC Netmask', 'SubnetMask'),
  gateway: addressPart('BMC Gateway', 'Gateway'),
  mac,
  ipsrc: addressPart('BMC IP Source', 'AddressOrigin'),
  vlan,
  hostname,
  ntp,
  ntpservers: ntp,
  community,
};

export function unknownAttribute(name: string, known: readonly string[]): Fault {
  return new Fault(
    'invalid',
    `its service processor has no attribute ${name} over Redfish; known are ${known.join(', ')}.`,
  );
}
