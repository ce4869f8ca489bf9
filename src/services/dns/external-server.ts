import { Fault } from '../../core/errors.ts';
import { formatListen, type ListenAddress } from '../../core/listen-address.ts';
import { DnsClient } from '../../protocols/dns/client.ts';
import type { TsigKey } from '../../protocols/dns/tsig.ts';
import type { Ledger } from './ledger.ts';
import { Turns } from '../../core/turns.ts';
import type { Change } from './update-plan.ts';
import { messagesUnderWay, Updater } from './updater.ts';
import type { Warnings } from './warnings.ts';
import { isIn } from './zone-file.ts';
import { type Zones, zoneOf } from './zones.ts';

const knownFor = 60_000;

/** A name server elsewhere that lets us update its zones. */
export class ExternalServer {
  readonly updater: Updater;
  readonly ledger: Ledger;
  readonly key: TsigKey;
  readonly #client: DnsClient;
  readonly #updating: readonly DnsClient[];
  readonly #label: string;
  readonly #zones = new Map<string, { readonly zone: string | undefined; readonly until: number }>();

  constructor({ host, port }: ListenAddress, key: TsigKey, ledger: Ledger) {
    this.#label = formatListen({ host, port });
    this.#client = new DnsClient(host, port, key);
    this.key = key;
    this.ledger = ledger;
    this.#updating = Array.from({ length: messagesUnderWay }, () => new DnsClient(host, port, key));
    this.updater = new Updater(this.#updating, ledger, new Turns(), this.#label);
  }

  /** The zones the server has for ours: its zone may be a larger one. Those that are not needed may be missing. */
  async zonesFor(
    wanted: ReadonlyMap<string, { readonly isNeeded: boolean }>,
    warn: (text: string) => void,
  ): Promise<Map<string, string>> {
    const zones = new Map<string, string>();
    for (const [name, { isNeeded }] of wanted) {
      const zone = await this.#zoneFor(name);
      if (zone !== undefined) zones.set(name, zone);
      else if (!isNeeded) continue;
      else if (name.endsWith('.arpa'))
        warn(`The name server ${this.#label} has no zone ${name}; names of addresses are left out.`);
      else
        throw new Fault(
          'unavailable',
          `The name server ${this.#label} has no zone for ${name}; create it there first.`,
        );
    }
    return zones;
  }

  async #zoneFor(name: string): Promise<string | undefined> {
    const known = this.#zones.get(name);
    if (known && known.until > Date.now()) return known.zone;
    const soa = await this.#client.soa(name).catch((error: unknown) => {
      throw new Fault('unavailable', `The name server ${this.#label} cannot be asked: ${(error as Error).message}.`, {
        cause: error,
        retryAfter: 5,
      });
    });
    const zone = soa && soa.zone !== '' && isIn(soa.zone, name) ? soa.zone : undefined;
    this.#zones.set(name, { zone, until: Date.now() + knownFor });
    return zone;
  }

  close(): void {
    for (const client of [this.#client, ...this.#updating]) client.close();
  }
}

export type Wish = Omit<Change, 'zoneOf'>;

/** A change with the zones as the server has them. What a node had in a domain that is the site's no more is found there too. */
export async function externalChange(
  server: ExternalServer,
  { names }: Zones,
  wish: Wish,
  warnings: Warnings,
): Promise<Change> {
  const ownZone = (name: string): string => zoneOf(names, name) ?? name.slice(name.indexOf('.') + 1);
  const wanted = new Map<string, { isNeeded: boolean }>();
  for (const [owner, records] of wish.owners) {
    for (const { name } of records.values()) wanted.set(ownZone(name), { isNeeded: true });
    for (const former of [server.ledger.of(owner), wish.doubtful?.get(owner)]) {
      for (const { name } of former?.values() ?? []) {
        const zone = ownZone(name);
        if (!wanted.has(zone)) wanted.set(zone, { isNeeded: false });
      }
    }
  }
  const zones = await server.zonesFor(wanted, warnings.add);
  return { ...wish, zoneOf: (name) => zones.get(ownZone(name)) };
}
