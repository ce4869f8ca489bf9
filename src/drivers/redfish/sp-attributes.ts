import { Fault } from '../../core/errors.ts';
import type { Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { flagAt, type Json, linkAt, listAt, numberAt, textAt, textsAt } from '../../protocols/redfish/json.ts';
import { type Line, message, present } from './labels.ts';
import { managerFor, type Target } from './target.ts';

export type SpReader = (target: Target, signal: AbortSignal) => Promise<readonly Line[]>;
export type SpWriter = (
  target: Target,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Written | void>;

/** A Fault says what is wrong with settings before any of `all` those of the call is sent. The BMC may be asked for it. */
export type SpCheck = (
  settings: Readonly<Record<string, string>>,
  target: Target,
  signal: AbortSignal,
  all: Readonly<Record<string, string>>,
) => Promise<void> | void;

export interface Written {
  /** What the user has to do now, if anything. */
  readonly notes?: readonly Line[];
  /** Where the service is now, if it has moved. */
  readonly moved?: Target;
  /** The BMC takes it on when it restarts; until then it shows what was before. */
  readonly pending?: boolean;
}

const addressPart =
  (label: string, member: string): SpReader =>
  async (target, signal) => {
    const { body } = await (await managementNetwork(target, signal)).port();
    return present([label, textAt(currentAddress(body, target.access.address), member)]);
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
  return new Fault('invalid', `its BMC has no attribute ${name} over Redfish; known are ${known.join(', ')}.`);
}

interface ManagementNetwork {
  /** The interface that carries the address we use, else the first with an address, else the first. */
  port(): Promise<Resource>;
  protocols(): Promise<Resource>;
}

export async function managementNetwork(target: Target, signal: AbortSignal): Promise<ManagementNetwork> {
  const manager = await managerFor(target, signal);
  if (!manager) throw new Fault('invalid', 'its Redfish service has no manager whose settings could be read.');
  return {
    async port() {
      const ports = await memberResources(target.service, linkAt(manager.body, 'EthernetInterfaces'), signal);
      const has = ({ body }: Resource, address: string): boolean =>
        addressesIn(body).some((item) => textAt(item, 'Address') === address);
      const port =
        ports.find((one) => has(one, target.access.address)) ??
        ports.find(({ body }) => currentAddress(body) !== undefined) ??
        ports[0];
      if (!port) throw new Fault('invalid', 'its BMC does not show its network interface.');
      // Those of an expanded collection have no ETag to change them by.
      return port.etag === undefined ? target.service.get(port.path, signal) : port;
    },
    async protocols() {
      const protocols = await target.service.find(linkAt(manager.body, 'NetworkProtocol'), signal);
      if (!protocols) throw new Fault('invalid', 'its BMC does not show its network protocols.');
      return protocols;
    },
  };
}

function addressesIn(body: Json): readonly Json[] {
  return [...listAt(body, 'IPv4Addresses'), ...listAt(body, 'IPv6Addresses')];
}

/** Of several addresses the one that is used, else the first that others can reach; undefined if there is none. */
export function currentAddress(body: Json, used?: string): Json {
  const set = listAt(body, 'IPv4Addresses').filter((item) => !['', '0.0.0.0'].includes(textAt(item, 'Address') ?? ''));
  const isLinkLocal = (item: Json): boolean => textAt(item, 'Address')!.startsWith('169.254.');
  return set.find((item) => textAt(item, 'Address') === used) ?? set.find((item) => !isLinkLocal(item)) ?? set[0];
}
