import { isIPv4 } from 'node:net';
import { type Bmc, healthy, uuid } from '../bmc.ts';
import {
  collection,
  done,
  failure,
  type Json,
  link,
  notInList,
  type Reply,
  root,
  unknownMember,
  unknownMembers,
  textOf,
} from '../resource.ts';
import { linkedCertificates } from '../certificate-ways.ts';
import { addMedia } from './media.ts';
import { macAddress } from './parts.ts';
import { forgetSessions } from './sessions.ts';

const managers = `${root}/Managers`;

export const managerPath = ({ kind, tag }: Bmc): string => `${managers}/${kind === 'openbmc' ? 'bmc' : `SP-${tag}`}`;

export function addManagers(bmc: Bmc, chassis: string, system: string, logServices: string | undefined): void {
  const path = managerPath(bmc);
  const resetTarget = `${path}/Actions/${bmc.kind === 'openbmc' ? 'Manager.Reset' : `${bmc.tag}/Reset`}`;
  const interfaces = `${path}/EthernetInterfaces`;
  const protocol = `${path}/NetworkProtocol`;
  const media = bmc.kind === 'plain' && bmc.newStyle ? {} : addMedia(bmc, path);
  bmc.resources.set(
    managers,
    collection(managers, 'Manager', () => [path]),
  );
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#Manager.v1_18_0.Manager',
      Id: path.slice(managers.length + 1),
      Name: 'Manager',
      ManagerType: bmc.kind === 'enclosure' ? 'EnclosureManager' : 'BMC',
      UUID: uuid(bmc.index, 'manager'),
      FirmwareVersion: bmc.update.versions['bmc'],
      Status: bmc.starting ? { State: 'Starting' } : healthy,
      ...(bmc.kind === 'openbmc' ? { Oem: { OpenBmc: { Fan: fanMembers(bmc) } } } : {}),
      ...(bmc.kind === 'sparse' ? {} : { Model: 'LabBMC 3', DateTime: now(bmc.weak ? 4 : 0), PowerState: 'On' }),
      EthernetInterfaces: link(interfaces),
      NetworkProtocol: link(protocol),
      ...(logServices === undefined ? {} : { LogServices: link(logServices) }),
      Links: {
        ManagerForChassis: [link(chassis)],
        ...(bmc.kind === 'enclosure' ? {} : { ManagerForServers: [link(system)] }),
      },
      ...media,
      ...bmc.console.manager,
      Actions: { '#Manager.Reset': { target: resetTarget } },
    }),
    ...(bmc.kind === 'openbmc' ? { patch: (body: Json) => changeFan(bmc, body) } : {}),
  });
  bmc.resources.set(resetTarget, {
    post: () => {
      bmc.resets.push('Manager');
      // Behind the reply, which is still sent under the session.
      setImmediate(() => forgetSessions(bmc));
      const { later } = bmc.web;
      if (later) setTimeout(() => bmc.web.serve(later.cert, later.key), 20);
      return done;
    },
    privilege: 'ConfigureManager',
  });
  addInterface(bmc, interfaces);
  addProtocol(bmc, protocol);
}

/** In seconds, so that the resource is the same for as long. */
const now = (hoursAhead: number): string =>
  new Date(Date.now() + hoursAhead * 3_600_000).toISOString().replace(/\.\d+/, '');

const fanProfiles = ['DEFAULT', 'CUSTOM', 'HEAVY_IO', 'MAX_BASE_FAN_FLOOR'];

const fanMembers = ({ fanProfile }: Bmc): Json => ({
  Profile: fanProfile,
  'Profile@Redfish.AllowableValues': fanProfiles,
});

function changeFan(bmc: Bmc, body: Json): Reply {
  const wanted = (body.Oem as { OpenBmc?: { Fan?: { Profile?: unknown } } } | undefined)?.OpenBmc?.Fan?.Profile;
  if (wanted === undefined) return unknownMember('Oem');
  if (!fanProfiles.includes(textOf(wanted))) return notInList(wanted, 'Profile');
  bmc.fanProfile = textOf(wanted);
  return done;
}

function addInterface(bmc: Bmc, interfaces: string): void {
  const id = bmc.kind === 'openbmc' ? 'eth0' : `lan-${bmc.tag}`;
  const path = `${interfaces}/${id}`;
  const address = () => ({ Address: bmc.address, SubnetMask: bmc.network.mask, Gateway: bmc.network.gateway });
  bmc.resources.set(
    interfaces,
    collection(interfaces, 'EthernetInterface', () => [path]),
  );
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#EthernetInterface.v1_8_0.EthernetInterface',
      Id: id,
      Name: 'Manager Ethernet Interface',
      MACAddress: macAddress(bmc, 0),
      InterfaceEnabled: true,
      HostName: bmc.network.hostname,
      IPv4Addresses: [{ ...address(), AddressOrigin: 'Static' }],
      IPv4StaticAddresses: [address()],
      DHCPv4: { DHCPEnabled: false },
      ...(bmc.kind === 'sparse' ? {} : { VLAN: { VLANEnable: bmc.network.vlan.enabled, VLANId: bmc.network.vlan.id } }),
    }),
    patch: (body) => changeInterface(bmc, body),
    privilege: 'ConfigureManager',
    demandsETag: bmc.kind === 'plain' && bmc.newStyle,
  });
}

function changeInterface(bmc: Bmc, body: Json): Reply {
  const known = ['HostName', 'IPv4StaticAddresses', 'DHCPv4', ...(bmc.kind === 'sparse' ? [] : ['VLAN'])];
  const [unknown] = unknownMembers(body, known);
  if (unknown !== undefined) return unknownMember(unknown);
  const [entry = {}] = (body.IPv4StaticAddresses ?? []) as [StaticAddress?];
  for (const [member, value] of Object.entries(entry)) {
    if (!isIPv4(value)) {
      const sentence = `The value '${value}' for the property ${member} is of a different format.`;
      return failure(400, 'PropertyValueFormatError', sentence);
    }
  }
  if (!bmc.forgetful) keepInterface(bmc, body, entry);
  if (entry.Address !== undefined && entry.Address !== bmc.address) bmc.move(entry.Address);
  return done;
}

interface StaticAddress {
  readonly Address?: string;
  readonly SubnetMask?: string;
  readonly Gateway?: string;
}

function keepInterface({ network }: Bmc, body: Json, { SubnetMask, Gateway }: StaticAddress): void {
  if (body.HostName !== undefined) network.hostname = textOf(body.HostName);
  const vlan = body.VLAN as { VLANEnable?: boolean; VLANId?: number } | undefined;
  if (vlan) network.vlan = { enabled: vlan.VLANEnable ?? network.vlan.enabled, id: vlan.VLANId ?? network.vlan.id };
  network.mask = SubnetMask ?? network.mask;
  network.gateway = Gateway ?? network.gateway;
}

function addProtocol(bmc: Bmc, path: string): void {
  bmc.resources.set(path, {
    get: () => ({
      '@odata.id': path,
      '@odata.type': '#ManagerNetworkProtocol.v1_9_0.ManagerNetworkProtocol',
      Id: 'NetworkProtocol',
      Name: 'Manager Network Protocol',
      HostName: bmc.network.hostname,
      HTTPS: { ProtocolEnabled: true, Port: 443, ...linkedCertificates(bmc, path) },
      IPMI: { ProtocolEnabled: false, Port: 623 },
      SSH: { ProtocolEnabled: true, Port: 22 },
      ...(bmc.kind === 'sparse' ? {} : { HTTP: { ProtocolEnabled: bmc.weak, Port: 80 } }),
      ...(bmc.weak ? { Telnet: { ProtocolEnabled: true, Port: 23 } } : {}),
      ...(bmc.kind === 'sparse' ? {} : { SNMP: { ProtocolEnabled: bmc.network.snmp, Port: 161 } }),
      NTP: { ProtocolEnabled: bmc.network.ntpEnabled, NTPServers: bmc.network.ntp },
      ...bmc.console.protocol,
    }),
    patch: (body) => changeProtocol(bmc, body),
    privilege: 'ConfigureManager',
  });
}

function changeProtocol(bmc: Bmc, body: Json): Reply {
  const [unknown] = unknownMembers(body, ['HostName', 'NTP', ...(bmc.kind === 'sparse' ? [] : ['SNMP'])]);
  if (unknown !== undefined) return unknownMember(unknown);
  if (bmc.forgetful) return done;
  const ntp = body.NTP as { ProtocolEnabled?: boolean; NTPServers?: string[] } | undefined;
  const snmp = body.SNMP as { ProtocolEnabled?: boolean } | undefined;
  if (body.HostName !== undefined) bmc.network.hostname = textOf(body.HostName);
  bmc.network = {
    ...bmc.network,
    ntp: ntp?.NTPServers ?? bmc.network.ntp,
    ntpEnabled: ntp?.ProtocolEnabled ?? bmc.network.ntpEnabled,
    snmp: snmp?.ProtocolEnabled ?? bmc.network.snmp,
  };
  return done;
}
