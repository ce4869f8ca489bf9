import { statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { type Ip, ipKind, ipText } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader, type EffectiveReader } from '../../objects/effective.ts';
import { visibleNodes } from '../../objects/groups.ts';
import { type HostInterface, interfacesOf } from '../../objects/host-interfaces.ts';
import { hostEntries, type HostEntry } from '../../objects/host-names.ts';
import { type ManagementNode, managementNode } from '../../objects/networks.ts';
import { attemptFor, type RefusedNodes } from '../../objects/select.ts';
import { addressesByName, type HostLine, readHosts } from '../hosts/hosts-file.ts';
import { isOwnEntry } from '../hosts/own-lines.ts';
import { type DnsRecord, recordKey } from '../ledger.ts';
import { type Host, recordsOfHost, type Zones } from './zones.ts';

const maximum = 200;

/** Collects messages, each once, and so many that a reader can use them. */
export class Warnings {
  readonly #texts: Set<string>;

  constructor(texts: Iterable<string> = []) {
    this.#texts = new Set(texts);
  }

  readonly add = (text: string): void => {
    this.#texts.add(text);
  };

  list(): string[] {
    const texts = [...this.#texts];
    const more = texts.length - maximum;
    return more > 0 ? [...texts.slice(0, maximum), `${more} more messages are left out.`] : texts;
  }
}

/** The hosts file as DNS sees it: which address has which names. */
export interface HostsMapping {
  readonly lines: readonly HostLine[];
  /** Whether a line gives the address one of the names. */
  has(ip: Ip, names: readonly string[]): boolean;
  addressOf(name: string): Ip | undefined;
}

/** Reads the file again only when it has changed: one more node must not cost as much as all of them. */
export class HostsReader {
  readonly path: string;
  #stamp = '';
  #mapping: HostsMapping = mappingOf([]);

  constructor(path: string) {
    this.path = path;
  }

  read(): HostsMapping {
    const stat = statSync(this.path, { bigint: true, throwIfNoEntry: false });
    const stamp = stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}` : '';
    if (stamp !== this.#stamp) {
      this.#mapping = mappingOf(readHosts(this.path));
      this.#stamp = stamp;
    }
    return this.#mapping;
  }
}

/** Asking for few nodes of a large file costs little: what is looked up is made ready when it is first asked for. */
function mappingOf(lines: readonly HostLine[]): HostsMapping {
  let byAddress: Map<string, HostLine[]> | undefined;
  let byName: ReadonlyMap<string, Ip> | undefined;
  return {
    lines,
    has: (ip, names) => {
      byAddress ??= Map.groupBy(lines, ({ address }) => address);
      const wanted = names.map((name) => name.toLowerCase());
      const found = byAddress.get(ipText(ip)) ?? [];
      return found.some((line) => line.names.some((name) => wanted.includes(name.toLowerCase())));
    },
    addressOf: (name) => (byName ??= addressesByName(lines)).get(name.toLowerCase()),
  };
}

/** Records by the node whose they are; '' for lines of the hosts file that belong to no node. */
export type OwnedRecords = Map<string, Map<string, DnsRecord>>;

const perTurn = 500;
const mostNamed = 20;

function own(owned: OwnedRecords, owner: string, records: readonly DnsRecord[]): void {
  let map = owned.get(owner);
  if (!map) owned.set(owner, (map = new Map()));
  for (const record of records) map.set(recordKey(record), record);
}

/** The records of nodes as they are defined. Each must be in the hosts file as it is defined, or is refused. */
export async function recordsOfNodes(
  snapshot: Snapshot,
  zones: Zones,
  nodes: readonly string[],
  hosts: HostsMapping,
  hostsFile: string,
  warnings: Warnings,
  refused: RefusedNodes,
): Promise<OwnedRecords> {
  const resolve = (name: string) => Promise.resolve(hosts.addressOf(name));
  const found = await hostEntries(snapshot, nodes, resolve, refused);
  for (const warning of found.warnings) warnings.add(warning);
  checkMapped(nodes, found.entries, hosts, hostsFile, managementNode(snapshot), refused);
  const owned: OwnedRecords = new Map(nodes.flatMap((node) => (refused.has(node) ? [] : [[node, new Map()]])));
  for (const [i, entry] of found.entries.entries()) {
    if (i % perTurn === perTurn - 1) await setImmediate();
    if (refused.has(entry.node)) continue;
    const host: Host = { ip: entry.ip, name: entry.long, aliases: entry.others };
    own(owned, entry.node, recordsOfHost(snapshot, zones, host, warnings.add));
  }
  return owned;
}

/** What nodes would have in DNS, as far as their definitions say; for nodes of which nobody has noted what they have. */
export async function likelyRecords(
  snapshot: Snapshot,
  zones: Zones,
  nodes: readonly string[],
  hosts: HostsMapping,
): Promise<OwnedRecords> {
  const owned: OwnedRecords = new Map();
  try {
    const { entries } = await hostEntries(snapshot, nodes, (name) => Promise.resolve(hosts.addressOf(name)));
    for (const { node, ip, long, others } of entries) {
      const host: Host = { ip, name: long, aliases: others };
      own(
        owned,
        node,
        recordsOfHost(snapshot, zones, host, () => {}),
      );
    }
  } catch (error) {
    // A definition that is refused has never been in DNS.
    if (!(error instanceof Fault)) throw error;
  }
  return owned;
}

function checkMapped(
  nodes: readonly string[],
  entries: readonly HostEntry[],
  hosts: HostsMapping,
  hostsFile: string,
  machine: ManagementNode,
  refused: RefusedNodes,
): void {
  const seen = new Set<string>();
  const lacking = new Map<string, string[]>();
  const lack = (node: string, sentence: string): void => {
    lacking.set(node, [...(lacking.get(node) ?? []), sentence]);
  };
  for (const entry of entries) {
    const { node, ip, short, long } = entry;
    seen.add(node);
    attemptFor(refused, node, () => {
      if (hosts.has(ip, [short, long]) || isOwnEntry(machine, entry)) return;
      lack(node, `Node ${node}: the hosts file ${hostsFile} has no line for ${ipText(ip)} ${short}.`);
    });
  }
  for (const node of nodes) {
    if (seen.has(node) || refused.has(node)) continue;
    lack(node, `Node ${node}: it has no address (attribute ip) and no line in the hosts file ${hostsFile}.`);
  }
  if (lacking.size === 0) return;
  for (const [node, sentences] of lacking) refused.refuse(node, sentences);
  const named = [...lacking.keys()].slice(0, mostNamed);
  const range = named.join(',') + (lacking.size > named.length ? ',...' : '');
  refused.advise(`Write the lines first with POST /nodes/${range}/host.`);
}

/** The records of all lines of the hosts file; what belongs to a node is the node's. */
export async function recordsOfHostsFile(
  snapshot: Snapshot,
  zones: Zones,
  hosts: HostsMapping,
  serverName: string,
  warnings: Warnings,
  lost: Warnings,
): Promise<OwnedRecords> {
  const owners = await nodesByName(snapshot);
  const found: { owner: string; records: DnsRecord[] }[] = [];
  for (const [i, { ip, names: words }] of hosts.lines.entries()) {
    if (i % perTurn === perTurn - 1) await setImmediate();
    const [name, ...aliases] = words;
    if (!ip || name === undefined || ipKind(ip) !== 'host') continue;
    const owner = words.map((word) => owners.get(word.toLowerCase())).find((node) => node !== undefined) ?? '';
    const host: Host = { ip, name, aliases };
    found.push({ owner, records: recordsOfHost(snapshot, zones, host, warnings.add) });
  }
  return withoutClashes(found, serverName, lost);
}

/** The nodes by the names their interfaces have in the hosts file. */
async function nodesByName(snapshot: Snapshot): Promise<Map<string, string>> {
  const reader = effectiveReader(snapshot);
  const owners = new Map<string, string>();
  let count = 0;
  for (const node of visibleNodes(snapshot)) {
    if (++count % perTurn === 0) await setImmediate();
    owners.set(node.toLowerCase(), node);
    for (const { name } of interfacesIn(reader, node)) owners.set(name.toLowerCase(), node);
  }
  return owners;
}

/** Whether a node is defined to have another name. */
export function aliasClaims(snapshot: Snapshot): (node: string, name: string) => boolean {
  const reader = effectiveReader(snapshot);
  return (node, name) => {
    const others = interfacesIn(reader, node).flatMap((found) => found.others);
    return others.some((other) => name === other.toLowerCase() || name.startsWith(`${other.toLowerCase()}.`));
  };
}

/** A definition that cannot be read is refused where it is used; here it only means that its lines are nobody's. */
function interfacesIn(reader: EffectiveReader, node: string): HostInterface[] {
  try {
    return reader.nodeRow(node) ? interfacesOf(reader, node) : [];
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}

/** A name is either a host or another name for one host; of lines that contradict this the alias gives way. */
function withoutClashes(
  found: readonly { readonly owner: string; readonly records: readonly DnsRecord[] }[],
  serverName: string,
  lost: Warnings,
): OwnedRecords {
  const hostNames = new Set([serverName]);
  for (const { records } of found) for (const { name, type } of records) if (type !== 'CNAME') hostNames.add(name);
  const aliases = new Map<string, string>();
  const owned: OwnedRecords = new Map();
  for (const { owner, records } of found) {
    const kept = records.filter(({ name, type, data }) => {
      if (type !== 'CNAME') return true;
      if (!aliases.has(name)) aliases.set(name, data);
      if (!hostNames.has(name) && aliases.get(name) === data) return true;
      lost.add(`Ignoring ${name}, another name of ${data}: it is the name of another host already.`);
      return false;
    });
    own(owned, owner, kept);
  }
  return owned;
}
