import { parseIp } from '../../core/ip.ts';
import type { Logger } from '../../core/log.ts';
import { KeaAway } from '../../protocols/kea/control.ts';
import type { KeaServer } from './kea-server.ts';
import { takenAddresses } from './leases.ts';
import { type AddressRange, isWithin } from './subnets.ts';

/** Milliseconds until a network is mentioned again. */
const mentionedAgain = 3_600_000;

/** Notices that machines asked for an address of a dynamic range that has none left. Kea counts them. */
export class PoolWatch {
  readonly #servers: readonly KeaServer[];
  readonly #log: Pick<Logger, 'warn'>;
  /** What Kea had counted when it was asked last, by servers. */
  readonly #counts = new Map<string, number>();
  readonly #mentioned = new Map<string, number>();
  #tell: (sentence: string) => void = () => undefined;

  constructor(servers: readonly KeaServer[], log: Pick<Logger, 'warn'>) {
    this.#servers = servers;
    this.#log = log;
  }

  /** Calls the listener with a sentence about each network whose addresses are used up. */
  whenExhausted(listener: (sentence: string) => void): void {
    this.#tell = listener;
  }

  async look(): Promise<void> {
    for (const server of this.#servers) {
      if (!server.base) continue;
      try {
        const fails = await count(server, `v${server.family}-allocation-fail`);
        // What it has counted before the first look is no news: it may have run for months.
        const before = this.#counts.get(server.name) ?? fails;
        this.#counts.set(server.name, fails);
        // A Kea that was started meanwhile begins at 0.
        if (fails > (fails < before ? 0 : before)) for (const network of await usedUp(server)) this.#mention(network);
      } catch (error) {
        // Whether it runs is looked after elsewhere.
        if (!(error instanceof KeaAway)) throw error;
      }
    }
  }

  #mention(network: string): void {
    const now = Date.now();
    if ((this.#mentioned.get(network) ?? -Infinity) + mentionedAgain > now) return;
    this.#mentioned.set(network, now);
    const sentence = `DHCP has no address left in the dynamicrange of the network ${network}: a machine asked for one and got none.`;
    this.#log.warn(sentence);
    this.#tell(
      `${sentence} Enlarge dynamicrange and run makedhcp -n, or give the machines reservations with makedhcp.`,
    );
  }
}

/**
 * The networks all of whose ranges are taken. Kea counts a failure for any of the networks of a wire, also for one that has no range, so
 * this is found by the addresses.
 */
async function usedUp(server: KeaServer): Promise<readonly string[]> {
  const taken = (await takenAddresses(server, Date.now() / 1_000)).flatMap((address) => parseIp(address) ?? []);
  const isFull = (range: AddressRange): boolean => taken.filter((ip) => isWithin(range, ip)).length >= sizeOf(range);
  return server
    .base!.subnets.filter(({ ranges }) => ranges.length > 0 && ranges.every(isFull))
    .map(({ network }) => network);
}

const sizeOf = ({ first, last }: AddressRange): number => Number(last.value) - Number(first.value) + 1;

/** 0 as long as Kea has counted nothing. */
async function count({ control }: KeaServer, name: string): Promise<number> {
  const found = (await control.tell('statistic-get', { name })) as Readonly<Record<string, unknown>> | undefined;
  const samples = found?.[name];
  const latest: unknown = Array.isArray(samples) ? samples[0] : undefined;
  return Array.isArray(latest) ? Number(latest[0]) || 0 : 0;
}
