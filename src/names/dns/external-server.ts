import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import { readOptional } from '../../core/files.ts';
import { parseIp } from '../../core/ip.ts';
import { formatListen, type ListenAddress, parseListen } from '../../core/host-address.ts';
import { Turns } from '../../core/waiting.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled } from '../../database/tables.ts';
import { siteValue } from '../../objects/effective.ts';
import { DnsClient } from '../../protocols/dns/client.ts';
import { DnsFault, isHostName, rcode } from '../../protocols/dns/names.ts';
import { type TsigAlgorithm, tsigAlgorithms, type TsigKey } from '../../protocols/dns/tsig.ts';
import { type DnsRecord, keyed, type Ledger } from '../ledger.ts';
import { inZone, messagesUnderWay, serverFault } from './sender.ts';
import type { Change } from './update-plan.ts';
import { Updater } from './updater.ts';
import type { Warnings } from './cluster-records.ts';
import { isIn } from './zone-file.ts';
import { isOfAddress, zoneOf, type Zones } from './zones.ts';

const dnsPort = 53;

/** Whether the names are kept by servers elsewhere, which are updated instead of one here. */
export const isExternal = (snapshot: Snapshot): boolean =>
  !/^(|0|no|n)$/i.test(siteValue(snapshot, 'externaldns') ?? '');

/** Those of site.nameservers, else the ones this machine asks itself. */
export function externalServers(snapshot: Snapshot): ListenAddress[] {
  const named = (siteValue(snapshot, 'nameservers') ?? '').split(/[\s,;]+/).flatMap((text) => {
    if (text === '' || text.startsWith('<')) return [];
    const server = parseIp(text) ? { host: text, port: dnsPort } : parseListen(text);
    if (!server || !parseIp(server.host))
      throw new Fault(
        'invalid',
        `site.nameservers: ${JSON.stringify(text)} is neither an IP address nor ADDRESS:PORT.`,
      );
    return server;
  });
  const servers = named.length > 0 ? named : resolvers();
  if (servers.length > 0) return servers;
  throw new Fault(
    'invalid',
    'site.externaldns is set, but neither site.nameservers nor /etc/resolv.conf names a server to update.',
  );
}

function resolvers(): ListenAddress[] {
  const lines = (readOptional('/etc/resolv.conf') ?? '').matchAll(/^nameserver[ \t]+(\S+)/gm);
  return [...lines].flatMap(([, host]) => (parseIp(host!) ? { host: host!, port: dnsPort } : []));
}

/** The passwd row with key omapi: the key's name, its secret in base64, and its algorithm. */
export function externalKey(snapshot: Snapshot, box: SecretBox): TsigKey {
  const row = [...snapshot.rows('passwd').values()].find(
    (each) => each['key'] === 'omapi' && each['username'] && each['password'] && isEnabled(each),
  );
  if (!row)
    throw new Fault(
      'invalid',
      'Updates of a name server elsewhere need its TSIG key: PUT /tables/passwd/rows/key=omapi,username=KEYNAME {"password":"SECRET IN BASE64","cryptmethod":"hmac-sha256"}.',
    );
  const name = row['username']!.toLowerCase().replace(/\.$/, '');
  const where = `Table passwd, key omapi, username ${JSON.stringify(row['username'])}`;
  // Names of keys often have underscores, which hosts may not have.
  if (!isHostName(name.replaceAll('_', '-'))) throw new Fault('invalid', `${where}: this cannot be the name of a key.`);
  const secret = box.open(row['password']!, 'passwd.password').trim();
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(secret)) throw new Fault('invalid', `${where}: the password is not base64.`);
  return { name, algorithm: algorithm(snapshot, row['cryptmethod'], where), secret: Buffer.from(secret, 'base64') };
}

function algorithm(snapshot: Snapshot, own: string | undefined, where: string): TsigAlgorithm {
  const text = (own || siteValue(snapshot, 'dhcpomapialgorithm') || 'hmac-sha256').toLowerCase();
  const found = (Object.keys(tsigAlgorithms) as TsigAlgorithm[]).find(
    (name) => name === text || name === `hmac-${text}`,
  );
  if (found) return found;
  throw new Fault('invalid', `${where}: ${JSON.stringify(text)} is none of ${Object.keys(tsigAlgorithms).join(', ')}.`);
}

const cachedFor = 60_000;

interface ZoneFound {
  readonly zone?: string;
  /** The server has it and does not let us change it. */
  readonly refusal?: Fault;
  /** The server could not load it, or does not have it and found nobody to ask: nobody knows which. */
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
  async zonesFor(needs: ReadonlyMap<string, Need>, warn: (text: string) => void): Promise<Map<string, string>> {
    const zones = new Map<string, string>();
    for (const [name, need] of needs) {
      const { zone, refusal, failure } = await this.#zoneFor(name);
      const fault = refusal ?? failure;
      if (zone !== undefined) zones.set(name, zone);
      else if (fault && need.isNoted) throw fault;
      else if (!need.isWanted) continue;
      else if (name.endsWith('.arpa'))
        warn(
          `The name server ${this.#label} has no zone ${name} that we may change; records of addresses (PTR) are left out.`,
        );
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
      // A cache has named a zone that is elsewhere.
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

export type Wanted = Omit<Change, 'zoneOf'>;

/** What a zone is needed for: records that are wanted, and records that were added. Others only may be there. */
interface Need {
  isWanted: boolean;
  isNoted: boolean;
}

/** A change with the zones as the server has them. What a node had in a domain that is the site's no more is found there too. */
export async function externalChange(
  server: ExternalServer,
  { names }: Zones,
  wanted: Wanted,
  warnings: Warnings,
): Promise<Change> {
  const above = (name: string): string => name.slice(name.indexOf('.') + 1);
  // Only the server on this machine has zones of single addresses; others have the neighbours as well.
  const ownZone = (name: string): string => {
    const zone = zoneOf(names, name);
    return zone === undefined || isOfAddress(zone) ? above(name) : zone;
  };
  const needs = new Map<string, Need>();
  const needFor = (name: string): Need => {
    const zone = ownZone(name);
    let need = needs.get(zone);
    if (!need) needs.set(zone, (need = { isWanted: false, isNoted: false }));
    return need;
  };
  for (const [owner, records] of wanted.owners) {
    for (const { name } of records.values()) needFor(name).isWanted = true;
    for (const { name } of server.ledger.of(owner).values()) needFor(name).isNoted = true;
    for (const { name } of wanted.doubtful?.get(owner)?.values() ?? []) needFor(name);
  }
  const zones = await server.zonesFor(needs, warnings.add);
  const has = ({ name }: DnsRecord): boolean => zones.has(ownZone(name));
  const isWhole = [...needs.keys()].every((zone) => zones.has(zone));
  // What goes nowhere must not be noted as ours.
  const owners = isWhole
    ? wanted.owners
    : new Map([...wanted.owners].map(([owner, records]) => [owner, keyed([...records.values()].filter(has))]));
  return { ...wanted, owners, zoneOf: (name) => zones.get(ownZone(name)) };
}
