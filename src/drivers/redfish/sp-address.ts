import { isIP, isIPv4 } from 'node:net';
import { Fault, Unreachable } from '../../core/errors.ts';
import type { RedfishService } from '../../protocols/redfish/client.ts';
import { at, textAt } from '../../protocols/redfish/json.ts';
import { currentAddress, managementNetwork, type SpWriter } from './sp-attributes.ts';
import type { Target } from './target.ts';
import { until } from './until.ts';

/** Address, mask and gateway are one setting; parts not given stay as they are. */
export const setAddress: SpWriter = async (target, settings, signal) => {
  const port = await (await managementNetwork(target, signal)).port();
  const now = currentAddress(port.body, target.access.address);
  if (settings['ip'] === 'dhcp') {
    await target.service.patch(port, { DHCPv4: { DHCPEnabled: true } }, signal);
    return;
  }
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
    await target.service.patch(port, change, signal);
  } catch (error) {
    // It may have moved before it could answer; whether it did is seen at the new address.
    const lost = error instanceof Unreachable || (error instanceof Fault && error.kind === 'unavailable');
    if (!own || !lost || signal.aborted) throw error;
  }
  if (!own) return;
  const service = await verifyMove(target, address, uuid, signal);
  const access = { ...target.access, address };
  return { notes: [['BMC IP', address]], moved: { ...target, service, access } };
};

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
        `its service processor was told to move to ${address}, but does not answer there: ` +
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
