import { setImmediate } from 'node:timers/promises';
import { Fault } from '../core/errors.ts';
import { type Ip, ipKey, ipKind, ipText, isNetworkEnd, parseIp } from '../core/ip.ts';
import { isNodeName } from '../core/object-names.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { clusterDomains } from './claims.ts';
import { type EffectiveReader, effectiveReader } from './effective.ts';
import { type HostInterface, interfacesOf } from './host-interfaces.ts';
import { brokenNetworks, domainOf, type ManagementNode, managementNode, networkOf } from './networks.ts';
import { attemptFor, type RefusedNodes } from './select.ts';

const label = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,62}$/;
const reserved = /^(localhost|ip6-[a-z]+|broadcasthost)(\.|$)/i;
const maximumName = 253;

const shown = (name: string): string => JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}...` : name);

/** Why text cannot be the name of a host in files and zones; undefined if it can. */
export function hostNameProblem(name: string): string | undefined {
  if (name.length > maximumName) return `${shown(name)} is longer than ${maximumName} characters`;
  if (parseIp(name)) return `${shown(name)} is an address, not a name`;
  if (reserved.test(name)) return `${shown(name)} belongs to the management node`;
  if (isNodeName(name)) return undefined;
  if (name.split('.').every((part) => label.test(part))) return undefined;
  return `${shown(name)} is not a host name (letters, digits, "-" and "_" in parts of at most 63 characters, separated by ".")`;
}

export function checkHostName(name: string, where: string): void {
  const problem = hostNameProblem(name);
  if (problem) throw new Fault('invalid', `${where}: ${problem}.`);
}

/** Sees to it that a name means one host of the cluster only. */
class HostNameClaims {
  readonly #reader: EffectiveReader;
  readonly #own: ManagementNode;
  readonly #clusterDomains: ReadonlySet<string>;
  /** The nodes that have given their interfaces names. */
  readonly #interfaceNames = new Map<string, string>();

  constructor(snapshot: Snapshot, reader: EffectiveReader) {
    this.#reader = reader;
    this.#own = managementNode(snapshot);
    this.#clusterDomains = clusterDomains(snapshot);
  }

  /** Refuses names of an interface that no host can have, or that are another's. */
  claim(node: string, found: HostInterface, { short, long }: { readonly short: string; readonly long: string }): void {
    const names = `Node ${node}, ${found.nameAttribute}`;
    checkHostName(long, names);
    if (found.name !== node) {
      this.#checkFree(short, node, names);
      this.#claimName(short, node, names);
    }
    for (const other of found.others) {
      const where = `Node ${node}, ${found.othersAttribute}`;
      checkHostName(other, where);
      this.#checkFree(other, node, where);
    }
  }

  #checkFree(name: string, node: string, where: string): void {
    const meant = this.#nodeMeant(name);
    if (meant !== undefined && meant !== node)
      throw new Fault('invalid', `${where}: "${name}" is the name of another node.`);
    if (this.#own.hasName(name) && !this.#own.hasName(node))
      throw new Fault('invalid', `${where}: "${name}" belongs to the management node.`);
  }

  /** The node whose name it is: names of hosts are the same in capital letters, and with a domain of the cluster. */
  #nodeMeant(name: string): string | undefined {
    const dot = name.indexOf('.');
    const short = dot > 0 && this.#clusterDomains.has(name.slice(dot + 1).toLowerCase()) ? name.slice(0, dot) : name;
    return [short, short.toLowerCase()].find((each) => this.#reader.nodeRow(each));
  }

  /** Two nodes that give an interface the same name would take each other's line. */
  #claimName(name: string, node: string, where: string): void {
    const other = this.#interfaceNames.get(name.toLowerCase());
    if (other !== undefined && other !== node)
      throw new Fault('invalid', `${where}: "${name}" is the name of an interface of node ${other} too.`);
    this.#interfaceNames.set(name.toLowerCase(), node);
  }
}

/** An address of a node and the names it has there. */
export interface HostEntry {
  readonly node: string;
  readonly ip: Ip;
  readonly short: string;
  readonly long: string;
  /** Besides these two, which may stand among the host names as well. */
  readonly others: readonly string[];
  /** Where the address stands, for error messages. */
  readonly attribute: string;
}

export interface HostEntries {
  readonly entries: HostEntry[];
  /** What was left out and why. */
  readonly warnings: string[];
  /** The same by nodes. */
  readonly leftOut: LeftOut[];
}

interface LeftOut {
  readonly node: string;
  readonly sentence: string;
  /** What it has in place of an address. */
  readonly ip?: string;
}

/** The address of a name that no definition gives an address. */
export type Resolve = (name: string) => Promise<Ip | undefined>;

/** So many nodes are worked on before others get their turn. */
const nodesPerTurn = 200;

/**
 * Names and addresses as files and zones need them. Nodes without address or domain are left out. What is harmful or contradicts is a
 * fault, or refuses its node alone, if that can be noted.
 */
export async function hostEntries(
  snapshot: Snapshot,
  nodes: readonly string[],
  resolve: Resolve,
  refused?: RefusedNodes,
): Promise<HostEntries> {
  const work = new Collection(snapshot, refused);
  const unknown: string[] = [];
  for (const [i, node] of nodes.entries()) {
    if (i % nodesPerTurn === nodesPerTurn - 1) await setImmediate();
    work.attempt(node, () => {
      const found = interfacesOf(work.reader, node);
      if (found[0]!.ip === undefined) unknown.push(node);
      else work.add(node, found);
    });
  }
  const addresses = await Promise.all(unknown.map(resolve));
  for (const [i, node] of unknown.entries()) {
    if (i % nodesPerTurn === nodesPerTurn - 1) await setImmediate();
    const ip = addresses[i];
    // A name of the management node itself leads to a loopback address on many systems.
    const known = ip && ipKind(ip) === 'host' ? ipText(ip) : undefined;
    work.attempt(node, () => work.add(node, interfacesOf(work.reader, node, known)));
  }
  return work.result(nodes);
}

class Collection {
  readonly reader: EffectiveReader;
  readonly #snapshot: Snapshot;
  readonly #refused: RefusedNodes | undefined;
  readonly #entries: HostEntry[] = [];
  readonly #warnings: string[];
  readonly #leftOut: LeftOut[] = [];
  readonly #holders = new Map<number | bigint, HostEntry>();
  /** Those that have been checked. */
  readonly #domains = new Set<string>();
  readonly #names: HostNameClaims;

  constructor(snapshot: Snapshot, refused: RefusedNodes | undefined) {
    this.#snapshot = snapshot;
    this.#refused = refused;
    this.reader = effectiveReader(snapshot);
    this.#names = new HostNameClaims(snapshot, this.reader);
    this.#warnings = brokenNetworks(snapshot).map(({ name, reason }) => `Ignoring network '${name}': ${reason}.`);
  }

  /** A node that is refused has nothing. */
  attempt(node: string, work: () => void): void {
    const before = this.#entries.length;
    if (attemptFor(this.#refused, node, work)) return;
    for (const { ip } of this.#entries.splice(before)) this.#holders.delete(ipKey(ip));
  }

  add(node: string, interfaces: readonly HostInterface[]): void {
    for (const found of interfaces) {
      if (found.ip !== undefined) this.#add(node, found, found.ip);
      else this.#leaveOut({ node, sentence: `Ignoring node '${node}', it can not be resolved.` });
    }
  }

  #add(node: string, found: HostInterface, text: string): void {
    const ip = parseIp(text);
    if (ip) {
      checkKind(node, found, text, ip);
      this.#addEntry(node, found, ip);
    } else if (found.attribute === 'hosts.ip') {
      this.#leaveOut({ node, sentence: `Ignoring node '${node}', its ip address '${text}' is not valid.`, ip: text });
    } else throw new Fault('invalid', `Node ${node}, ${found.attribute}: "${text}" is not an IP address.`);
  }

  #leaveOut(left: LeftOut): void {
    this.#leftOut.push(left);
    this.#warnings.push(left.sentence);
  }

  /** Entries in the order of the nodes, whichever were known first. */
  result(nodes: readonly string[]): HostEntries {
    const order = new Map(nodes.map((node, i) => [node, i]));
    const entries = this.#entries
      .filter(({ node }) => !this.#refused?.has(node))
      .sort((a, b) => order.get(a.node)! - order.get(b.node)!);
    return { entries, warnings: this.#warnings, leftOut: this.#leftOut };
  }

  #addEntry(node: string, found: HostInterface, ip: Ip): void {
    const domain = domainOf(this.#snapshot, ip);
    if (domain === undefined) {
      const sentence = `No domain can be determined for node '${node}'. The domain of the xCAT node must be provided in an xCAT network definition or the xCAT site definition.`;
      this.#leaveOut({ node, sentence });
      return;
    }
    this.#checkDomain(domain, ip);
    const { attribute, others } = found;
    const network = networkOf(this.#snapshot, ip);
    if (network && isNetworkEnd(network.prefix, ip))
      throw new Fault(
        'invalid',
        `Node ${node}, ${attribute}: ${ipText(ip)} is the first or last address of network ${network.name}, which no node can have.`,
      );
    const names = namesOf(found, domain);
    this.#names.claim(node, found, names);
    const own = [names.short.toLowerCase(), names.long.toLowerCase()];
    const further = others.filter((name) => !own.includes(name.toLowerCase()));
    const entry: HostEntry = { node, ip, ...names, others: further, attribute };
    this.#claimAddress(entry);
    this.#entries.push(entry);
  }

  #checkDomain(domain: string, ip: Ip): void {
    if (this.#domains.has(domain)) return;
    const network = networkOf(this.#snapshot, ip);
    checkHostName(domain, network?.row['domain'] ? `Network ${network.name}, domain` : 'Site attribute domain');
    this.#domains.add(domain);
  }

  #claimAddress(entry: HostEntry): void {
    const key = ipKey(entry.ip);
    const other = this.#holders.get(key);
    if (other) {
      const sentence = `Node ${entry.node}, ${entry.attribute}: ${other.short} of node ${other.node} has the address ${ipText(entry.ip)} too.`;
      // Nobody knows which of the two is right.
      this.#refused?.refuse(other.node, [sentence]);
      throw new Fault('invalid', sentence);
    }
    this.#holders.set(key, entry);
  }
}

function checkKind(node: string, { attribute }: HostInterface, text: string, ip: Ip): void {
  const kind = ipKind(ip);
  if (kind === 'host') return;
  const article = /^[Iu]/.test(kind) ? 'an' : 'a';
  throw new Fault(
    'invalid',
    `Node ${node}, ${attribute}: ${text} is ${article} ${kind} address, which no node can have.`,
  );
}

/** A name with a domain of its own, as other interfaces may have, keeps it; a nic such as bond0.100 only looks like it. */
function namesOf({ name, attribute }: HostInterface, domain: string): { short: string; long: string } {
  const dot = attribute === 'hosts.otherinterfaces' ? name.indexOf('.') : -1;
  return dot > 0 ? { short: name.slice(0, dot), long: name } : { short: name, long: `${name}.${domain}` };
}
