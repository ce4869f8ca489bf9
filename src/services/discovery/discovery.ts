import { setImmediate } from 'node:timers/promises';
import { expandAddresses } from '../../core/address-range.ts';
import { Fault } from '../../core/errors.ts';
import { outletsOf } from '../../protocols/multicast/outlets.ts';
import { findServices } from '../../protocols/slp/search.ts';
import { findRedfish } from '../../protocols/ssdp/search.ts';
import { readOptional } from '../optional-file.ts';
import { advertisedDevice, announcedDevice, type Device } from './device.ts';
import { foldDevices } from './fold.ts';
import { askable, kinds, servicesOf } from './kinds.ts';
import type { KnownNodes } from './known-nodes.ts';
import { type Attributes, definitionsOf } from './rows.ts';
import type { DiscoverySettings } from './settings.ts';

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

/** MAC addresses of the IPv4 neighbours that the kernel has talked to. Not every kernel tells. */
export function neighbours(table = readOptional('/proc/net/arp') ?? ''): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of table.split('\n').slice(1)) {
    const [address, , state, mac] = line.split(/\s+/);
    if (address && mac && state !== '0x0' && mac !== '00:00:00:00:00:00') found.set(address, mac);
  }
  return found;
}
