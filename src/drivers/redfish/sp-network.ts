import { isIP, isIPv4 } from 'node:net';
import { Fault, Unreachable } from '../../core/errors.ts';
import { checkHostAddress } from '../../core/host-address.ts';
import type { RedfishService, Resource } from '../../protocols/redfish/client.ts';
import { memberResources } from '../../protocols/redfish/collection.ts';
import { at, linkAt, listAt, textAt } from '../../protocols/redfish/json.ts';
import { rootMember } from '../../protocols/redfish/node-resources.ts';
import { isSet } from '../../protocols/redfish/resource.ts';
import { type Line, message } from './labels.ts';
import { currentAddress, managementNetwork, type SpWriter, type Written } from './sp-attributes.ts';
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

export const setHostname: SpWriter = async (target, { hostname = '' }, signal) => {
  if (!hostName.test(hostname)) throw new Fault('invalid', `"${hostname}" is not a host name.`);
  const network = await managementNetwork(target, signal);
  const port = await network.port();
  const change = { HostName: hostname };
  if (textAt(port.body, 'HostName') !== undefined) return changePort(target, port, change, signal);
  await target.service.patch(await network.protocols(), change, signal);
  return {};
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
    throw new Fault('invalid', 'its BMC does not show SNMP communities.');
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
  if (at(port.body, 'VLAN') === undefined) throw new Fault('invalid', 'its BMC has no VLAN settings.');
  return changePort(target, port, { VLAN: off ? { VLANEnable: false } : { VLANEnable: true, VLANId: id } }, signal);
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

/** Changes the account with the userid, else with the username. A new username with a password makes a new account. */
export const setAccount: SpWriter = async (target, { userid, username, password }, signal) => {
  const { service, access } = target;
  if (userid === undefined && username === undefined) {
    throw new Fault(
      'invalid',
      'give userid or username with the password; the account that is used to reach it has the username ' +
        `"${access.username}".`,
    );
  }
  const accountService = await rootMember(service, 'AccountService', signal);
  const collection = linkAt(accountService?.body, 'Accounts');
  if (collection === undefined) throw new Fault('invalid', 'its BMC does not show its accounts.');
  const accounts = await memberResources(service, collection, signal);
  const [member, wanted] = userid === undefined ? ['UserName', username] : ['Id', userid];
  const account = accounts.find(({ body }) => textAt(body, member) === wanted);
  if (account) {
    const change = {
      ...(userid !== undefined && username !== undefined ? { UserName: username } : {}),
      ...(password === undefined ? {} : { Password: password, Enabled: true }),
    };
    if (Object.keys(change).length === 0) return {};
    await service.patch(account, change, signal);
    return textAt(account.body, 'UserName') === access.username ? { notes: ownChanged(Object.keys(change)) } : {};
  }
  if (userid !== undefined || username === undefined || password === undefined) {
    const which = userid === undefined ? `user "${username}"` : `userid ${userid}`;
    const ids = accounts.flatMap(({ body }) => textAt(body, 'Id') ?? []);
    throw new Fault('invalid', `its BMC has no account for ${which}; its userids are ${ids.join(', ')}.`);
  }
  const created = { UserName: username, Password: password, RoleId: 'Administrator', Enabled: true };
  await service.act(collection, created, signal);
  return {};
};

/** From now on the BMC refuses what the node's attributes say. */
function ownChanged(members: readonly string[]): readonly Line[] {
  const attributes = [
    ...(members.includes('UserName') ? ['bmcusername'] : []),
    ...(members.includes('Password') ? ['bmcpassword'] : []),
  ];
  return [
    [message, `This is the account used to reach it: set ${attributes.join(' and ')} of the node to the new value.`],
  ];
}
