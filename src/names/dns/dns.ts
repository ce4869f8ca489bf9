import { join } from 'node:path';
import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import { formatListen } from '../../core/host-address.ts';
import type { Logger } from '../../core/log.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { RefusedNodes } from '../../objects/select.ts';
import type { TsigKey } from '../../protocols/dns/tsig.ts';
import { Ledger, type Records } from '../ledger.ts';
import {
  aliasClaims,
  HostsReader,
  likelyRecords,
  recordsOfHostsFile,
  recordsOfNodes,
  Warnings,
} from './cluster-records.ts';
import {
  externalChange,
  externalKey,
  ExternalServer,
  externalServers,
  isExternal,
  type Wanted,
} from './external-server.ts';
import { type DnsSettings, layoutOf } from './layout.ts';
import { LocalServer } from './local-server.ts';
import { checkTogether } from './update-plan.ts';
import { authorityOf, serverName } from './zone-file.ts';
import { type Zones, zonesOf } from './zones.ts';

const nothing: Records = new Map();

/**
 * Nodes that are defined no more, renamed or removed, and still have names or addresses in DNS that nodes of `owners` have now: nobody
 * can ask for their removal, so it goes with the nodes that have taken their place.
 */
function predecessorsOf(
  snapshot: Snapshot,
  ledger: Ledger,
  owners: ReadonlyMap<string, Records>,
  warnings: Warnings,
): Map<string, Records> {
  const reader = effectiveReader(snapshot);
  const found = new Map<string, Records>();
  for (const records of owners.values()) {
    for (const { name } of records.values()) {
      for (const { owner } of ledger.named(name)) {
        if (owner === '' || owners.has(owner) || found.has(owner) || reader.nodeRow(owner)) continue;
        found.set(owner, nothing);
        warnings.add(`Node ${owner} is no longer defined: its records are removed from DNS.`);
      }
    }
  }
  return found;
}

interface DnsParts {
  readonly settings: DnsSettings;
  readonly data: string;
  readonly hostsFile: string;
  readonly box: SecretBox;
  readonly log: Logger;
}

/** The nodes' names in DNS: by a name server on this machine, or by one elsewhere if the site says so. */
export class Dns {
  readonly #parts: DnsParts;
  readonly #hosts: HostsReader;
  readonly #local: LocalServer | undefined;
  readonly #external = new Map<string, ExternalServer>();

  constructor(parts: DnsParts) {
    this.#parts = parts;
    this.#hosts = new HostsReader(parts.hostsFile);
    const layout = layoutOf(parts.settings, parts.data);
    this.#local = layout && new LocalServer(layout, parts.log, this.#ledger('local'));
  }

  /** At the start of muster; what fails is in the log. */
  resume(): void {
    this.#local?.resume();
  }

  async close(): Promise<void> {
    for (const server of this.#external.values()) server.close();
    await this.#local?.close();
  }

  /** Whether the name server of this machine answers; undefined: muster has set none up. */
  isServing(): Promise<boolean | undefined> {
    return this.#local?.isServing() ?? Promise.resolve(undefined);
  }

  /** What a name server elsewhere needs to copy the zones; undefined: no server here has them. */
  secondary(snapshot: Snapshot, master: string | undefined): ReturnType<LocalServer['secondary']> | undefined {
    if (isExternal(snapshot))
      return { objection: 'It copies no zones, because site.externaldns says that others serve them.' };
    return this.#local?.secondary(snapshot, master);
  }

  /** Makes configuration and zones, with all hosts of the hosts file in them. Answers with what was left out, aliases apart. */
  async setUp(snapshot: Snapshot): Promise<{ messages: string[]; lostAliases: string[] }> {
    const zones = zonesOf(snapshot);
    const warnings = new Warnings(zones.warnings);
    const lost = new Warnings();
    if (isExternal(snapshot)) {
      const server = this.#externalServer(snapshot);
      const found = await server.updater.submitComputed(async () => {
        const owners = await recordsOfHostsFile(snapshot, zones, this.#hosts.read(), '', warnings, lost);
        for (const owner of server.ledger.owners()) if (!owners.has(owner)) owners.set(owner, new Map());
        return externalChange(server, zones, { owners }, warnings);
      });
      for (const warning of found) warnings.add(warning);
    } else {
      const local = this.#localServer();
      await local.setUp(snapshot, zones, async () => {
        const hosts = this.#hosts.read();
        const authority = authorityOf(snapshot, zones.domain, hosts, local.layout);
        return { authority, owned: await recordsOfHostsFile(snapshot, zones, hosts, authority.name, warnings, lost) };
      });
    }
    return { messages: warnings.list(), lostAliases: lost.list() };
  }

  /** Whether there is a server whose records could be changed. */
  isSetUp(snapshot: Snapshot): boolean {
    return isExternal(snapshot) || this.#localServer().isSetUp;
  }

  /** Lets DNS show the nodes as they are defined, and nothing else of them. Those that cannot be served are named when all others are. */
  async add(snapshot: Snapshot, nodes: readonly string[]): Promise<string[]> {
    const zones = zonesOf(snapshot);
    const warnings = new Warnings();
    const hosts = this.#hosts.read();
    const refused = new RefusedNodes();
    const owners = await recordsOfNodes(snapshot, zones, nodes, hosts, this.#hosts.path, warnings, refused);
    checkTogether(owners, refused, isExternal(snapshot) ? undefined : serverName(zones.domain));
    for (const node of owners.keys()) if (refused.has(node)) owners.delete(node);
    const isClaimed = aliasClaims(snapshot);
    const predecessors = predecessorsOf(snapshot, this.#ledgerFor(snapshot), owners, warnings);
    const wanted = { owners: new Map([...owners, ...predecessors]), isClaimed, refused };
    await this.#update(snapshot, zones, wanted, warnings);
    refused.tell();
    return warnings.list();
  }

  /** Takes the nodes' records out of DNS, and only those that are ours. */
  async remove(snapshot: Snapshot, nodes: readonly string[]): Promise<string[]> {
    const zones = zonesOf(snapshot);
    const warnings = new Warnings();
    const ledger = this.#ledgerFor(snapshot);
    const unknown = nodes.filter((node) => ledger.of(node).size === 0);
    const doubtful = await likelyRecords(snapshot, zones, unknown, this.#hosts.read());
    const predecessors = predecessorsOf(snapshot, ledger, doubtful, warnings);
    const owners = new Map([...nodes.map((node) => [node, nothing] as const), ...predecessors]);
    await this.#update(snapshot, zones, { owners, doubtful }, warnings);
    return warnings.list();
  }

  /** Whether muster has added records for the node. */
  hasRecords(snapshot: Snapshot, node: string): boolean {
    return this.#isKept(snapshot) && this.#ledgerFor(snapshot).of(node).size > 0;
  }

  /** Takes out what was added for nodes that are defined no more. */
  async removeUndefined(snapshot: Snapshot): Promise<void> {
    if (!this.#isKept(snapshot)) return;
    const owners = [...this.#ledgerFor(snapshot).owners()].filter((owner) => owner && !snapshot.get('nodelist', owner));
    if (owners.length > 0) await this.remove(snapshot, owners);
  }

  #isKept(snapshot: Snapshot): boolean {
    return this.#local !== undefined || isExternal(snapshot);
  }

  #ledgerFor(snapshot: Snapshot): Ledger {
    return (isExternal(snapshot) ? this.#externalServer(snapshot) : this.#localServer()).ledger;
  }

  async #update(snapshot: Snapshot, zones: Zones, wanted: Wanted, warnings: Warnings): Promise<void> {
    const external = isExternal(snapshot) ? this.#externalServer(snapshot) : undefined;
    const found = external
      ? await external.updater.submit(await externalChange(external, zones, wanted, warnings))
      : await this.#updateLocal(zones, wanted);
    for (const warning of found) warnings.add(warning);
  }

  #updateLocal(zones: Zones, wanted: Wanted): Promise<readonly string[]> {
    const local = this.#localServer();
    return local.updater().submit({ ...wanted, server: serverName(zones.domain), zoneOf: local.zoneFinder(zones) });
  }

  #localServer(): LocalServer {
    if (this.#local) return this.#local;
    throw new Fault(
      'invalid',
      'No name server is kept on this machine (setting dns.daemon is "none") and site.externaldns names none elsewhere.',
    );
  }

  /** The first of the servers; updates belong to the primary. */
  #externalServer(snapshot: Snapshot): ExternalServer {
    const [address] = externalServers(snapshot);
    const key = externalKey(snapshot, this.#parts.box);
    const label = formatListen(address!);
    const known = this.#external.get(label);
    if (known && sameKey(known.key, key)) return known;
    known?.close();
    const server = new ExternalServer(address!, key, known?.ledger ?? this.#ledger(label));
    this.#external.set(label, server);
    return server;
  }

  #ledger(server: string): Ledger {
    return new Ledger(join(this.#parts.data, 'dns', `records-${server.replaceAll(/[^\w.-]/g, '_')}.jsonl`));
  }
}

const sameKey = (a: TsigKey, b: TsigKey): boolean =>
  a.name === b.name && a.algorithm === b.algorithm && a.secret.equals(b.secret);
