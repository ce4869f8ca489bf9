import { isIPv4 } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Type } from 'typebox';
import { expandAddresses } from '../../core/ip.ts';
import { Fault } from '../../core/errors.ts';
import { readOptional } from '../../core/files.ts';
import { Count, kind as settingKind, Names, setting, type ValuesOf } from '../../core/settings.ts';
import { outletsOf } from '../../protocols/multicast/outlets.ts';
import { findServices } from '../../protocols/slp/search.ts';
import { findRedfish } from '../../protocols/ssdp/search.ts';
import { advertisedDevice, announcedDevice, askable, type Device, kinds, rankOf, servicesOf } from './device.ts';
import { type Attributes, definitionsOf, type KnownNodes } from './rows.ts';

const most = 1_024;

const AddressRanges = settingKind(
  `one or more address ranges such as 10.1.0.1-10.1.0.20, of at most ${most} addresses together`,
  Type.Refine(Names, (ranges) => {
    try {
      return expandAddresses(ranges.join(',')).length <= most;
    } catch {
      return false;
    }
  }),
);

export const discoverySettings = Type.Object({
  interfaces: setting(Names, 'interfaces or addresses to search for devices on', {
    defaultText: 'all except loopback',
  }),
  addresses: setting(AddressRanges, `addresses of SLP agents to ask one by one, at most ${most}`, {
    defaultText: 'none',
  }),
  seconds: setting(Count, 'seconds a search may take', { default: 5 }),
});
type DiscoverySettings = ValuesOf<typeof discoverySettings>;

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

const servicesPerTurn = 1_000;

/** Finds devices that announce themselves on the networks of this machine, by SLP and SSDP. */
export class NetworkDiscovery {
  readonly #settings: DiscoverySettings;
  readonly #closing = new AbortController();
  /** Searches under way, by what they are for. Who asks for the same meanwhile gets their result. */
  readonly #searches = new Map<string, Promise<Device[]>>();

  constructor(settings: DiscoverySettings) {
    this.#settings = settings;
  }

  close(): void {
    this.#closing.abort();
  }

  /** Devices of a type as definitions of nodes, by name; of all types if there is none. */
  async find(type: string | undefined, known: KnownNodes): Promise<ReadonlyMap<string, Attributes>> {
    const wanted = type?.toUpperCase() ?? '';
    if (wanted !== '' && !Object.hasOwn(askable, wanted)) {
      const types = Object.keys(askable).join(', ');
      throw new Fault('invalid', `"${type}" is not a type of device that announces itself; known are ${types}.`);
    }
    let search = this.#searches.get(wanted);
    if (!search) {
      search = this.#search(wanted).finally(() => this.#searches.delete(wanted));
      this.#searches.set(wanted, search);
    }
    return definitionsOf(await search, { known, neighbours: neighbours() });
  }

  async #search(wanted: string): Promise<Device[]> {
    const { interfaces, addresses = [], seconds } = this.#settings;
    const asked = askable[wanted];
    const question = { outlets: outletsOf(interfaces), milliseconds: seconds * 1_000 };
    const types = servicesOf(asked);
    const agents = addresses.length > 0 ? expandAddresses(addresses.join(',')) : [];
    const { signal } = this.#closing;
    const [announced, advertised] = await Promise.all([
      types.length > 0 ? findServices({ ...question, types, agents }, signal) : [],
      !asked || asked === kinds.redfish ? findRedfish(question, signal) : [],
    ]);
    const found: Device[] = [];
    for (const [i, service] of announced.entries()) {
      // There may be as many as a flood brings; others get their turn meanwhile.
      if (i % servicesPerTurn === servicesPerTurn - 1) await setImmediate();
      const device = announcedDevice(service);
      if (device) found.push(device);
    }
    const devices = foldDevices([...found, ...advertised.map(advertisedDevice)]);
    // Some answer whatever they are asked for.
    return asked ? devices.filter(({ kind }) => kind === asked) : devices;
  }
}

/** MAC addresses of the IPv4 neighbours that the kernel has talked to. Not every kernel lists them. */
export function neighbours(table = readOptional('/proc/net/arp') ?? ''): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of table.split('\n').slice(1)) {
    const [address, , state, mac] = line.split(/\s+/);
    if (address && mac && state !== '0x0' && mac !== '00:00:00:00:00:00') found.set(address, mac);
  }
  return found;
}
