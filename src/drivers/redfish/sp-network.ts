import { Fault } from '../../core/errors.ts';
import { checkHostAddress } from '../../core/host-address.ts';
import { at, listAt, textAt } from '../../protocols/redfish/json.ts';
import { managementNetwork, type SpWriter } from './sp-attributes.ts';

const hostName = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const serverName = /^[a-z0-9.:-]{1,253}$/i;

export const setHostname: SpWriter = async (target, { hostname = '' }, signal) => {
  if (!hostName.test(hostname)) throw new Fault('invalid', `"${hostname}" is not a host name.`);
  const network = await managementNetwork(target, signal);
  const port = await network.port();
  const holder = textAt(port.body, 'HostName') === undefined ? await network.protocols() : port;
  await target.service.patch(holder, { HostName: hostname }, signal);
};

export const setNtp: SpWriter = async (target, { ntp, ntpservers }, signal) => {
  const servers = (ntp ?? ntpservers ?? '').split(',').map((server) => server.trim());
  const wrong = servers.find((server) => !serverName.test(server) || checkHostAddress(server));
  if (wrong !== undefined) throw new Fault('invalid', `"${wrong}" is not the name or address of an NTP server.`);
  const protocols = await (await managementNetwork(target, signal)).protocols();
  await target.service.patch(protocols, { NTP: { ProtocolEnabled: true, NTPServers: servers } }, signal);
};

export const setCommunity: SpWriter = async (target, { community = '' }, signal) => {
  if (!/^[\x21-\x7e]{1,32}$/.test(community)) {
    throw new Fault('invalid', 'an SNMP community is 1 to 32 printable characters without blanks.');
  }
  const protocols = await (await managementNetwork(target, signal)).protocols();
  if (at(protocols.body, 'SNMP', 'CommunityStrings') === undefined) {
    throw new Fault('invalid', 'its service processor does not show SNMP communities.');
  }
  const [first] = listAt(protocols.body, 'SNMP', 'CommunityStrings');
  const kept = textAt(first, 'Name');
  const entry = { ...(kept === undefined ? {} : { Name: kept }), CommunityString: community };
  await target.service.patch(protocols, { SNMP: { CommunityStrings: [entry] } }, signal);
};

export const setVlan: SpWriter = async (target, { vlan = '' }, signal) => {
  const off = vlan === 'off' || vlan === '0';
  const id = Number(vlan);
  if (!off && !(/^\d{1,4}$/.test(vlan) && id >= 1 && id <= 4_094)) {
    throw new Fault('invalid', `vlan is a number from 1 to 4094, or off, not "${vlan}".`);
  }
  const port = await (await managementNetwork(target, signal)).port();
  if (at(port.body, 'VLAN') === undefined) throw new Fault('invalid', 'its service processor has no VLAN settings.');
  await target.service.patch(port, { VLAN: off ? { VLANEnable: false } : { VLANEnable: true, VLANId: id } }, signal);
};
