import { isIP, isIPv4 } from 'node:net';
import { Fault, Unreachable } from '../../core/errors.ts';
import { checkHostAddress } from '../../core/host-address.ts';
import type { RedfishService, Resource } from '../../protocols/redfish/client.ts';
import { at, listAt, textAt } from '../../protocols/redfish/json.ts';
import { isSet } from '../../protocols/redfish/resource.ts';
import { message } from './labels.ts';
import { currentAddress, managementNetwork, type SpCheck, type SpWriter, type Written } from './sp-attributes.ts';
import { patchOrSettings, type Target, until } from './target.ts';

const hostName = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;
const serverName = /^[a-z0-9.:-]{1,253}$/i;

/** Changes the interface of a BMC, or the settings that it takes on when the BMC restarts. */
async function changePort(target: Target, port: Resource, change: unknown, signal: AbortSignal): Promise<Written> {
  const changed = await patchOrSettings(target, port, change, signal);
  if (changed === port.path) return {};
  const { body } = await target.service.get(changed, signal);
  if (!isSet(body, change))
    throw new Fault('invalid', `its BMC accepted new settings of its network at ${changed}, but did not keep them.`);
  const { node } = target.access;
  const note =
    'The BMC has stored the new settings of its network and takes them on when it restarts: ' +
    `PUT /nodes/${node}/power {"action":"bmcreboot"} restarts it.`;
  return { pending: true, notes: [[message, note]] };
}

export const checkHostname: SpCheck = ({ hostname = '' }) => {
  if (!hostName.test(hostname)) throw new Fault('invalid', `"${hostname}" is not a host name.`);
};

export const setHostname: SpWriter = async (target, { hostname = '' }, signal) => {
  const network = await managementNetwork(target, signal);
  const port = await network.port();
  const change = { HostName: hostname };
  if (textAt(port.body, 'HostName') !== undefined) return changePort(target, port, change, signal);
  await target.service.patch(await network.protocols(), change, signal);
  return {};
};

const serversIn = ({ ntp, ntpservers }: Readonly<Record<string, string>>): readonly string[] =>
  (ntp ?? ntpservers ?? '').split(',').map((server) => server.trim());

export const checkNtp: SpCheck = (settings) => {
  const wrong = serversIn(settings).find((server) => !serverName.test(server) || checkHostAddress(server));
  if (wrong !== undefined) throw new Fault('invalid', `"${wrong}" is not the name or address of an NTP server.`);
};

export const setNtp: SpWriter = async (target, settings, signal) => {
  const servers = serversIn(settings);
  const protocols = await (await managementNetwork(target, signal)).protocols();
  await target.service.patch(protocols, { NTP: { ProtocolEnabled: true, NTPServers: servers } }, signal);
};

export const checkCommunity: SpCheck = ({ community = '' }) => {
  if (!/^[\x21-\x7e]{1,32}$/.test(community)) {
    throw new Fault('invalid', 'an SNMP community is 1 to 32 printable characters without blanks.');
  }
};

export const setCommunity: SpWriter = async (target, { community = '' }, signal) => {
  const protocols = await (await managementNetwork(target, signal)).protocols();
  if (at(protocols.body, 'SNMP', 'CommunityStrings') === undefined) {
    throw new Fault('invalid', 'its BMC does not show SNMP communities.');
  }
  const [first] = listAt(protocols.body, 'SNMP', 'CommunityStrings');
  const kept = textAt(first, 'Name');
  const entry = { ...(kept === undefined ? {} : { Name: kept }), CommunityString: community };
  await target.service.patch(protocols, { SNMP: { CommunityStrings: [entry] } }, signal);
};

const isOff = (vlan: string): boolean => vlan === 'off' || vlan === '0';

export const checkVlan: SpCheck = ({ vlan = '' }) => {
  const id = Number(vlan);
  if (!isOff(vlan) && !(/^\d{1,4}$/.test(vlan) && id >= 1 && id <= 4_094)) {
    throw new Fault('invalid', `vlan is a number from 1 to 4094, or off, not "${vlan}".`);
  }
};

export const setVlan: SpWriter = async (target, { vlan = '' }, signal) => {
  const port = await (await managementNetwork(target, signal)).port();
  if (at(port.body, 'VLAN') === undefined) throw new Fault('invalid', 'its BMC has no VLAN settings.');
  return changePort(
    target,
    port,
    { VLAN: isOff(vlan) ? { VLANEnable: false } : { VLANEnable: true, VLANId: Number(vlan) } },
    signal,
  );
};

/** Of what is given; what the BMC has instead is known only when it is asked. */
export const checkAddress: SpCheck = ({ ip = 'dhcp', netmask, gateway }) => {
  if (ip !== 'dhcp' && !isIPv4(ip)) throw new Fault('invalid', `"${ip}" is not an IPv4 address, nor dhcp.`);
  if (netmask !== undefined && !isNetmask(netmask))
    throw new Fault('invalid', `"${netmask}" is not a netmask; give netmask with the address.`);
  if (gateway !== undefined && !isIPv4(gateway)) throw new Fault('invalid', `"${gateway}" is not an IPv4 gateway.`);
};

/** Address, mask and gateway are one setting; parts not given stay as they are. */
export const setAddress: SpWriter = async (target, settings, signal) => {
  const port = await (await managementNetwork(target, signal)).port();
  const now = currentAddress(port.body, target.access.address);
  if (settings['ip'] === 'dhcp') return changePort(target, port, dhcpFor(port), signal);
  const address = settings['ip'] ?? textAt(now, 'Address') ?? '';
  const mask = settings['netmask'] ?? textAt(now, 'SubnetMask') ?? '';
  const gateway = settings['gateway'] ?? textAt(now, 'Gateway');
  if (!isIPv4(address)) throw new Fault('invalid', `"${address}" is not an IPv4 address, nor dhcp.`);
  if (!isNetmask(mask)) throw new Fault('invalid', `"${mask}" is not a netmask; give netmask with the address.`);
  if (gateway !== undefined && !isIPv4(gateway)) throw new Fault('invalid', `"${gateway}" is not an IPv4 gateway.`);
  const entry = { Address: address, SubnetMask: mask, ...(gateway === undefined ? {} : { Gateway: gateway }) };
  const change = {
    ...(at(port.body, 'DHCPv4', 'DHCPEnabled') === true ? { DHCPv4: { DHCPEnabled: false } } : {}),
    ...(at(port.body, 'IPv4StaticAddresses') === undefined
      ? { IPv4Addresses: [{ ...entry, AddressOrigin: 'Static' }] }
      : { IPv4StaticAddresses: [entry] }),
  };
  const own = address !== textAt(now, 'Address') && leadsTo(target.access.address, textAt(now, 'Address'));
  // Asked now: it may not answer here any more afterwards.
  const uuid = own ? textAt((await target.service.root(signal)).body, 'UUID') : undefined;
  try {
    const written = await changePort(target, port, change, signal);
    if (written.pending) return own ? withAddress(written, target.access.address) : written;
  } catch (error) {
    // It may have moved before it could answer; whether it did is seen at the new address.
    const lost = error instanceof Unreachable || (error instanceof Fault && error.kind === 'unavailable');
    if (!own || !lost || signal.aborted) throw error;
  }
  if (!own) return;
  const service = await verifyMove(target, address, uuid, signal);
  const access = { ...target.access, address };
  return { ...withAddress({}, address), moved: { ...target, service, access } };
};

/** Where the BMC is now. */
const withAddress = ({ notes = [], ...written }: Written, address: string): Written => ({
  ...written,
  notes: [['BMC IP', address], ...notes],
});

/** Services without DHCPv4 have it in the origin of the address. */
const dhcpFor = ({ body }: Resource): unknown =>
  at(body, 'DHCPv4') === undefined ? { IPv4Addresses: [{ AddressOrigin: 'DHCP' }] } : { DHCPv4: { DHCPEnabled: true } };

/** A name is taken to lead to the address that the service has. */
const leadsTo = (used: string, address: string | undefined): boolean => used === address || isIP(used) === 0;

async function verifyMove(
  target: Target,
  address: string,
  uuid: string | undefined,
  signal: AbortSignal,
): Promise<RedfishService> {
  const moved = target.client.service({ ...target.service.endpoint, address });
  let problem: Fault | undefined;
  await until(
    async () => {
      try {
        const { body } = await moved.root(signal);
        problem = undefined;
        return textAt(body, 'UUID') === uuid;
      } catch (error) {
        if (!(error instanceof Fault) || signal.aborted) throw error;
        problem = error;
        return false;
      }
    },
    (same) => same,
    () =>
      new Fault(
        'deadline',
        `its BMC was asked to move to ${address}, but does not answer there: ` +
          `${problem?.message ?? 'another Redfish service does.'} Its attribute bmc is unchanged.`,
      ),
    target.addressTimeout,
    signal,
  );
  await target.service.handOver(moved);
  return moved;
}

export function isNetmask(text: string): boolean {
  if (!isIPv4(text)) return false;
  const bits = text.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const inverted = 2 ** 32 - 1 - bits;
  return bits !== 0 && (inverted & (inverted + 1)) === 0;
}
