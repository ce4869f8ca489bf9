import { setImmediate } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { ipKind, ipText } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader, type EffectiveReader } from '../../objects/effective.ts';
import { visibleNodes } from '../../objects/groups.ts';
import { type HostInterface, interfacesOf } from '../../objects/host-interfaces.ts';
import { hostEntries, type HostEntry } from '../../objects/host-names.ts';
import { type ManagementNode, managementNode } from '../../objects/management-node.ts';
import { attemptFor, type RefusedNodes } from '../../objects/refused-nodes.ts';
import { isOwnEntry } from '../hosts/own-lines.ts';
import type { HostsMapping } from './hosts-mapping.ts';
import { type DnsRecord, recordKey } from './ledger.ts';
import type { Warnings } from './warnings.ts';
import { type Host, recordsOfHost, type Zones } from './zones.ts';

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
