import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import { isIP, isIPv6 } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { formatListen, type ListenAddress } from '../../core/host-address.ts';
import type { Logger } from '../../core/log.ts';
import type { ReportedEvent } from '../../drivers/index.ts';
import { readTrap } from '../../protocols/snmp/trap.ts';
import { eventOfTrap } from './trap-text.ts';

/** Traps that are read in a second, of all devices and of one; what is more is dropped unread. */
const mostInSecond = 500;
const mostOfDevice = 20;

/** Takes SNMP traps. What does not come from the address of a known BMC is dropped unread. */
export class TrapListener {
  readonly #community: string | undefined;
  readonly #log: Logger;
  readonly #take: (device: string, event: ReportedEvent) => void;
  readonly #sockets: Socket[] = [];
  #devices = new Map<string, string>();
  #second = 0;
  #read = 0;
  /** Those of this second, by device. */
  readonly #readOf = new Map<string, number>();

  constructor(community: string | undefined, log: Logger, take: (device: string, event: ReportedEvent) => void) {
    this.#community = community;
    this.#log = log;
    this.#take = take;
  }

  async listen(addresses: readonly ListenAddress[]): Promise<void> {
    for (const { host, port } of addresses) {
      const socket = createSocket(isIPv6(host) ? { type: 'udp6', ipv6Only: true } : { type: 'udp4' });
      this.#sockets.push(socket);
      try {
        await once(socket.bind(port, host), 'listening');
      } catch (error) {
        const sentence = `Cannot listen for SNMP traps on ${formatListen({ host, port })}: ${(error as Error).message}.`;
        throw new Fault('unavailable', [sentence, 'Change the setting events.trapListen.']);
      }
      socket.on('error', (error) => this.#log.warn({ err: error }, 'SNMP traps could not be received'));
      socket.on('message', (packet, { address }) => this.#received(packet, address));
    }
  }

  /** The devices whose traps count, with their addresses as they are shown. */
  know(devices: readonly (readonly [device: string, address: string])[]): void {
    const known = new Map<string, string>();
    this.#devices = known;
    for (const [device, shown] of devices) {
      const host = hostIn(shown);
      if (isIP(host)) known.set(host, device);
      else
        lookup(host, { all: true }).then(
          (found) => found.forEach(({ address }) => known.set(address, device)),
          () => this.#log.debug({ device }, 'the address of a BMC is not known: its traps do not count'),
        );
    }
  }

  close(): void {
    for (const socket of this.#sockets.splice(0)) socket.close();
  }

  #received(packet: Buffer, address: string): void {
    const device = this.#devices.get(address);
    if (device === undefined) return;
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) {
      [this.#second, this.#read] = [second, 0];
      this.#readOf.clear();
    }
    const own = (this.#readOf.get(device) ?? 0) + 1;
    this.#readOf.set(device, own);
    if (own > mostOfDevice || ++this.#read > mostInSecond) return;
    try {
      const trap = readTrap(packet);
      if (this.#community !== undefined && trap.community !== this.#community) return;
      this.#take(device, eventOfTrap(trap));
    } catch (error) {
      this.#log.debug({ err: error, device }, 'a BMC sent what is no trap');
    }
  }
}

/** `10.0.0.1`, `[fe80::1]:623` or `bmc7:623`. */
function hostIn(shown: string): string {
  if (isIP(shown)) return shown;
  const [, bracketed, host] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d+)?$/.exec(shown) ?? [];
  return bracketed ?? host ?? shown;
}
