import { Fault } from '../../core/errors.ts';
import { formatListen, type ListenAddress } from '../../core/listen-address.ts';
import { Turns } from '../../core/turns.ts';
import { DnsClient } from '../../protocols/dns/client.ts';
import { DnsFault, rcode } from '../../protocols/dns/codes.ts';
import type { TsigKey } from '../../protocols/dns/tsig.ts';
import { type DnsRecord, keyed, type Ledger } from './ledger.ts';
import { messagesUnderWay } from './sender.ts';
import { inZone, serverFault } from './server-fault.ts';
import type { Change } from './update-plan.ts';
import { Updater } from './updater.ts';
import type { Warnings } from './warnings.ts';
import { isIn } from './zone-file.ts';
import { isOfAddress, zoneOf, type Zones } from './zones.ts';

const cachedFor = 60_000;

interface ZoneFound {
  readonly zone?: string;
  /** The server has it and does not let us change it. */
  readonly refusal?: Fault;
  /** The server could not load it, or does not have it and found nobody to ask: it cannot be told which. */
  readonly failure?: Fault;
}

/** A name server elsewhere that lets us update its zones. */
export class ExternalServer {
  readonly updater: Updater;
  readonly ledger: Ledger;
  readonly key: TsigKey;
  readonly #client: DnsClient;
  readonly #updating: readonly DnsClient[];
  readonly #label: string;
  readonly #zones = new Map<string, { readonly zone: string; readonly until: number }>();

  constructor({ host, port }: ListenAddress, key: TsigKey, ledger: Ledger) {
    this.#label = formatListen({ host, port });
    this.#client = new DnsClient(host, port, key);
    this.key = key;
    this.ledger = ledger;
    this.#updating = Array.from({ length: messagesUnderWay }, () => new DnsClient(host, port, key));
    this.updater = new Updater(this.#updating, ledger, new Turns(), this.#label);
  }

  /** The zones the server has for ours: its zone may be a larger one. */
  async zonesFor(wanted: ReadonlyMap<string, Need>, warn: (text: string) => void): Promise<Map<string, string>> {
    const zones = new Map<string, string>();
    for (const [name, need] of wanted) {
      const { zone, refusal, failure } = await this.#zoneFor(name);
      const fault = refusal ?? failure;
      if (zone !== undefined) zones.set(name, zone);
      else if (fault && need.isNoted) throw fault;
      else if (!need.isWished) continue;
      else if (name.endsWith('.arpa'))
        warn(`The name server ${this.#label} has no zone ${name} that we may change; names of addresses are left out.`);
      else
        throw (
          refusal ??
          new Fault('unavailable', `The name server ${this.#label} has no zone for ${name}; create it there first.`)
        );
    }
    return zones;
  }

  /** The server's zone for a name. Whether we may change it is found out before anything is sent: nothing is done by halves. */
  async #zoneFor(name: string): Promise<ZoneFound> {
    const cached = this.#zones.get(name);
    if (cached && cached.until > Date.now()) return cached;
    let zone: string | undefined;
    try {
      zone = (await this.#client.soa(name))?.zone;
      if (!zone || !isIn(zone, name)) return {};
      await this.#client.meets(zone, zone, 'no-alias');
    } catch (error) {
      if (!(error instanceof DnsFault)) throw error;
      // A cache has told of a zone that is elsewhere.
      if (error.code === rcode.notauth) return {};
      const fault = serverFault(this.#label, zone ? inZone(error, zone) : error);
      if (error.code === rcode.refused) return { refusal: fault };
      if (error.code === rcode.servfail && zone === undefined) return { failure: fault };
      throw fault;
    }
    this.#zones.set(name, { zone, until: Date.now() + cachedFor });
    return { zone };
  }

  close(): void {
    for (const client of [this.#client, ...this.#updating]) client.close();
  }
}

export type Wish = Omit<Change, 'zoneOf'>;

/** What a zone is needed for: records that are wished for, and records that were added. Others only may be there. */
interface Need {
  isWished: boolean;
  isNoted: boolean;
}

/** A change with the zones as the server has them. What a node had in a domain that is the site's no more is found there too. */
export async function externalChange(
  server: ExternalServer,
  { names }: Zones,
  wish: Wish,
  warnings: Warnings,
): Promise<Change> {
  const above = (name: string): string => name.slice(name.indexOf('.') + 1);
  // Only the server on this machine has zones of single addresses; others have the neighbours as well.
  const ownZone = (name: string): string => {
    const zone = zoneOf(names, name);
    return zone === undefined || isOfAddress(zone) ? above(name) : zone;
  };
  const wanted = new Map<string, Need>();
  const needFor = (name: string): Need => {
    const zone = ownZone(name);
    let need = wanted.get(zone);
    if (!need) wanted.set(zone, (need = { isWished: false, isNoted: false }));
    return need;
  };
  for (const [owner, records] of wish.owners) {
    for (const { name } of records.values()) needFor(name).isWished = true;
    for (const { name } of server.ledger.of(owner).values()) needFor(name).isNoted = true;
    for (const { name } of wish.doubtful?.get(owner)?.values() ?? []) needFor(name);
  }
  const zones = await server.zonesFor(wanted, warnings.add);
  const has = ({ name }: DnsRecord): boolean => zones.has(ownZone(name));
  const isWhole = [...wanted.keys()].every((zone) => zones.has(zone));
  // What goes nowhere must not be noted as ours.
  const owners = isWhole
    ? wish.owners
    : new Map([...wish.owners].map(([owner, records]) => [owner, keyed([...records.values()].filter(has))]));
  return { ...wish, owners, zoneOf: (name) => zones.get(ownZone(name)) };
}
