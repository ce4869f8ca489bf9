import { isIPv4 } from 'node:net';
import type { Device } from './device.ts';

/**
 * One of each device, though it may have answered on several networks, by IPv4 and IPv6, and through directories. Answers are of one
 * device if kind, model, serial number and slot are the same and one of them lists the other's address, or came by IPv6.
 */
export function foldDevices(devices: readonly Device[]): Device[] {
  const folded: Device[] = [];
  const groups = new Map<string, Map<string, number>>();
  for (const device of devices) {
    const { kind, mtm, serial, slot, address } = device;
    const machine = mtm && serial ? [kind.name, mtm, serial, slot] : [kind.name, address];
    const key = machine.join('\0');
    let group = groups.get(key);
    if (!group) groups.set(key, (group = new Map()));
    const twin = twinIn(group, folded, device);
    const place = twin ?? folded.length;
    folded[place] = twin === undefined ? device : merged(folded[twin]!, device);
    for (const each of [address, ...device.addresses]) if (!group.has(each)) group.set(each, place);
  }
  return folded;
}

/** The place of the same device; `group` has the places of those that may be it, by their addresses. */
function twinIn(group: ReadonlyMap<string, number>, folded: readonly Device[], device: Device): number | undefined {
  for (const address of [device.address, ...device.addresses]) {
    const place = group.get(address);
    if (place !== undefined) return place;
  }
  const [first] = group.values();
  if (first === undefined) return undefined;
  return isIPv4(device.address) && isIPv4(folded[first]!.address) ? undefined : first;
}

function merged(one: Device, other: Device): Device {
  const [chief, second] = isIPv4(other.address) && !isIPv4(one.address) ? [other, one] : [one, other];
  return { ...chief, addresses: [...new Set([...chief.addresses, ...second.addresses])], mac: chief.mac || second.mac };
}
