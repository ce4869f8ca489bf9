import { isIPv4 } from 'node:net';
import type { Device } from './device.ts';
import { kinds, rankOf } from './kinds.ts';

/**
 * One of each device, though it may have answered on several networks, by IPv4 and IPv6, and through directories. Answers are of one
 * device if kind, model, serial number and slot (of a Redfish service its UUID) are the same and one of them lists the other's address, or came by IPv6.
 */
export function foldDevices(devices: readonly Device[]): Device[] {
  const folded: Device[] = [];
  const groups = new Map<string, Map<string, number>>();
  for (const device of ofOneKind(devices)) {
    const key = keyOf(device);
    let group = groups.get(key);
    if (!group) groups.set(key, (group = new Map()));
    const twin = twinIn(group, folded, device);
    const index = twin ?? folded.length;
    folded[index] = twin === undefined ? device : merged(folded[twin]!, device);
    for (const each of [device.address, ...device.addresses]) if (!group.has(each)) group.set(each, index);
  }
  return folded;
}

function keyOf({ kind, mtm, serial, slot, uuid, address }: Device): string {
  const machine = mtm && serial ? [mtm, serial, slot] : [kind === kinds.redfish && uuid ? uuid : address];
  return [kind.name, ...machine].join('\0');
}

/** A machine that has answered at one address to several types is of the newest kind. Redfish is another way to manage it, not a kind. */
function ofOneKind(devices: readonly Device[]): Device[] {
  const serials = new Map<string, string>();
  for (const { address, serial } of devices) if (serial && !serials.has(address)) serials.set(address, serial);
  const ranks = new Map<string, number>();
  const machine = ({ address, serial }: Device): string => `${address}\0${serial || (serials.get(address) ?? '')}`;
  const announced = devices.filter(({ kind }) => kind !== kinds.redfish);
  for (const device of announced)
    ranks.set(machine(device), Math.max(ranks.get(machine(device)) ?? -1, rankOf(device.kind)));
  return devices.filter((each) => each.kind === kinds.redfish || rankOf(each.kind) === ranks.get(machine(each)));
}

/** The index of the same device; `group` has the indices of those that may be it, by their addresses. */
function twinIn(group: ReadonlyMap<string, number>, folded: readonly Device[], device: Device): number | undefined {
  for (const address of [device.address, ...device.addresses]) {
    const index = group.get(address);
    if (index !== undefined) return index;
  }
  const [first] = group.values();
  if (first === undefined) return undefined;
  return isIPv4(device.address) && isIPv4(folded[first]!.address) ? undefined : first;
}

function merged(one: Device, other: Device): Device {
  const [chief, second] = isIPv4(other.address) && !isIPv4(one.address) ? [other, one] : [one, other];
  const said = [chief, second].map(({ announced }) => announced).find((each) => each !== '' && each !== chief.address);
  return {
    ...chief,
    announced: said ?? '',
    addresses: [...new Set([...chief.addresses, ...second.addresses])],
    mac: chief.mac || second.mac,
  };
}
