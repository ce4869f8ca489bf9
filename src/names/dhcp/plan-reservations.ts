import { setImmediate } from 'node:timers/promises';
import { Fault } from '../../core/errors.ts';
import { type Ip, ipKind, ipText, isNetworkEnd, parseIp } from '../../core/ip.ts';
import { isOneMachine, normalMac } from '../../core/mac.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { tableNamed } from '../../database/tables.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import { type HostInterface, interfacesOf } from '../../objects/host-interfaces.ts';
import { checkHostName, type Resolve } from '../../objects/host-names.ts';
import { keeperOf, macClaim } from '../../objects/kept-claims.ts';
import { attemptFor, type RefusedNodes } from '../../objects/select.ts';
import type { BootWorkers } from './boot-workers.ts';
import { isWithin, rangeText } from './subnets.ts';
import { type ServedSubnet, subnetOf } from './document.ts';
import type { Machine } from '../local-networks.ts';
import type { Reservation } from './reservations.ts';

const noAddress = '*NOIP*';
const nodesPerTurn = 500;

const macTable = tableNamed('mac');
const hostsTable = tableNamed('hosts');
const noderesTable = tableNamed('noderes');

/** A MAC address of a node and the name whose address it gets. */
interface Wanted {
  readonly node: string;
  readonly mac: string;
  readonly host: string;
  /** Undefined: to be looked up. */
  readonly ip: Ip | undefined;
  /** Where the address stands. */
  readonly attribute: string;
}

export interface PlanSurroundings {
  readonly machine: Pick<Machine, 'addresses' | 'resolver'>;
  /** Undefined: nodes boot from no workers. */
  readonly bootWorkers: BootWorkers | undefined;
}

/**
 * The reservations nodes shall have: for each MAC address in `mac.mac` (`mac[!host]|mac!*NOIP*`) the addresses of the host. What has no
 * address in any subnet is left out with a message. A node with a value that is wrong is refused, and is not in the answer.
 */
export async function planReservations(
  snapshot: Snapshot,
  nodes: readonly string[],
  subnets: readonly ServedSubnet[],
  { machine, bootWorkers }: PlanSurroundings,
  refused: RefusedNodes,
): Promise<{ readonly byNode: ReadonlyMap<string, readonly Reservation[]>; readonly messages: readonly string[] }> {
  const resolve = machine.resolver();
  const own = new Set(machine.addresses().map(({ ip }) => ipText(ip)));
  const reader = effectiveReader(snapshot);
  const byNode = new Map<string, Reservation[]>(nodes.map((node) => [node, []]));
  const { wanted, messages } = await allWanted(reader, nodes, refused);
  const looked = await lookUp(wanted, resolve);
  const bootServer = bootServers(reader, resolve, bootWorkers);
  // Whether any row could name one, or a loader.
  const someServers = reader.tablesInUse.includes(noderesTable);
  for (const [i, each] of wanted.entries()) {
    if (i % nodesPerTurn === nodesPerTurn - 1) await setImmediate();
    const { node, host } = each;
    if (refused.has(node)) continue;
    const list = byNode.get(node)!;
    if (host === noAddress) {
      list.push(unanswered(each));
      continue;
    }
    const ip = each.ip ?? looked.get(host);
    if (!ip) {
      messages.push(`Ignoring ${host} of node ${node}, it can not be resolved.`);
      continue;
    }
    const subnet = subnetOf(subnets, ip);
    const address = ipText(ip);
    if (!subnet) {
      messages.push(`Ignoring ${host} of node ${node}: no network that DHCP serves has its address ${address}.`);
      continue;
    }
    const place = { ip, address, subnet };
    try {
      checkPlace(each, place, own);
      checkTwin(each, place, list, subnets);
      const nextServer = ip.family === 4 && someServers ? await bootServer(node) : undefined;
      const loader = someServers && usesGrub(reader, node) ? 'grub' : undefined;
      list.push({ node, mac: each.mac, ip, address, hostname: host, nextServer, loader });
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      refused.refuse(node, error.sentences);
    }
  }
  for (const node of nodes) if (refused.has(node)) byNode.delete(node);
  return { byNode, messages };
}

/** A MAC address that DHCP leaves without an answer. */
const unanswered = ({ node, mac }: Wanted): Reservation => ({
  node,
  mac,
  ip: undefined,
  address: '',
  hostname: node,
  nextServer: undefined,
  loader: undefined,
});

async function allWanted(
  reader: EffectiveReader,
  nodes: readonly string[],
  refused: RefusedNodes,
): Promise<{ readonly wanted: readonly Wanted[]; readonly messages: string[] }> {
  const wanted: Wanted[] = [];
  const messages: string[] = [];
  for (const [i, node] of nodes.entries()) {
    if (i % nodesPerTurn === nodesPerTurn - 1) await setImmediate();
    const text = reader.row(macTable, node)?.['mac'];
    if (!text) messages.push(`Unable to find mac address for ${node}`);
    else
      attemptFor(refused, node, () => {
        wanted.push(...text.split('|').flatMap((part) => wantedOf(reader, node, part)));
      });
  }
  return { wanted, messages };
}

const fault = ({ node }: Pick<Wanted, 'node'>, attribute: string, what: string): Fault =>
  new Fault('invalid', `Node ${node}, ${attribute}: ${what}.`);

function wantedOf(reader: EffectiveReader, node: string, part: string): Wanted[] {
  const mark = part.indexOf('!');
  const macText = (mark < 0 ? part : part.slice(0, mark)).trim();
  const mac = normalMac(macText);
  if (!mac) throw fault({ node }, 'mac.mac', `${JSON.stringify(macText.slice(0, 60))} is not a MAC address`);
  if (!isOneMachine(mac))
    throw fault(
      { node },
      'mac.mac',
      `${mac} is the address of no machine or of many; give that of its network adapter`,
    );
  const keeper = keeperOf(reader, macClaim(mac));
  if (keeper !== undefined && keeper !== node)
    throw fault(
      { node },
      'mac.mac',
      `the MAC address ${mac} is that of node ${keeper}, which keeps it; give one of them another`,
    );
  const host = (mark < 0 ? node : part.slice(mark + 1).trim()) || node;
  if (host === noAddress) return [{ node, mac, host, ip: undefined, attribute: 'mac.mac' }];
  if (host !== node) checkHostName(host, `Node ${node}, mac.mac`);
  const known = namedAddresses(reader, node, host).flatMap(({ ip: text, attribute }) => {
    if (text === undefined) return [];
    const ip = parseIp(text);
    if (!ip) throw fault({ node }, attribute, `${JSON.stringify(text.slice(0, 60))} is not an IP address`);
    return [{ node, mac, host, ip, attribute }];
  });
  return known.length > 0 ? known : [{ node, mac, host, ip: undefined, attribute: 'hosts.ip' }];
}

/** Where definitions give the host addresses. Nearly always it is the node itself, so that is not made to wait for its other names. */
function namedAddresses(
  reader: EffectiveReader,
  node: string,
  host: string,
): readonly Pick<HostInterface, 'ip' | 'attribute'>[] {
  const own = host === node ? reader.row(hostsTable, node)?.['ip'] : undefined;
  if (own !== undefined) return [{ ip: own, attribute: 'hosts.ip' }];
  return interfacesOf(reader, node).filter(({ name, others }) => name === host || others.includes(host));
}

/** The addresses of all hosts that no definition gives one. */
async function lookUp(wanted: readonly Wanted[], resolve: Resolve): Promise<Map<string, Ip>> {
  const names = new Set(wanted.filter(({ ip, host }) => !ip && host !== noAddress).map(({ host }) => host));
  const found = new Map<string, Ip>();
  await Promise.all(
    [...names].map(async (name) => {
      const ip = await resolve(name);
      // A name of the management node itself leads to a loopback address on many systems.
      if (ip && ipKind(ip) === 'host') found.set(name, ip);
    }),
  );
  return found;
}

interface Place {
  readonly ip: Ip;
  readonly address: string;
  readonly subnet: ServedSubnet;
}

function checkTwin(
  wanted: Wanted,
  { subnet }: Place,
  list: readonly Reservation[],
  subnets: readonly ServedSubnet[],
): void {
  const { mac } = wanted;
  const twin = list.find((other) => other.mac === mac && other.ip && subnetOf(subnets, other.ip) === subnet);
  if (twin) throw fault(wanted, 'mac.mac', `${mac} would have two addresses in network ${subnet.network}`);
}

function checkPlace(wanted: Wanted, { ip, address, subnet }: Place, own: ReadonlySet<string>): void {
  const { network, prefix, ranges, gateway } = subnet;
  const whose = own.has(address)
    ? 'an address of this management node'
    : address === gateway && `the gateway of network ${network}`;
  if (whose) throw fault(wanted, wanted.attribute, `${address} is ${whose}; give the node another address`);
  const range = ranges.find((each) => isWithin(each, ip));
  if (range) {
    const what = `the address ${address} lies in the dynamic range ${rangeText(range)} of network ${network}`;
    throw fault(wanted, wanted.attribute, `${what}, where any machine may get it; give the node another address`);
  }
  if (isNetworkEnd(prefix, ip))
    throw fault(wanted, wanted.attribute, `${address} is the first or last address of network ${network}`);
}

const usesGrub = (reader: EffectiveReader, node: string): boolean =>
  reader.row(noderesTable, node)?.['netboot']?.startsWith('grub2') === true;

/** What the node's definition names to load boot files from; undefined: that follows from its service nodes. */
export function ownBootServer(reader: EffectiveReader, node: string): string | undefined {
  const name = reader.row(noderesTable, node)?.['tftpserver'];
  return name && name !== '<xcatmaster>' ? name : undefined;
}

/** Finds the server that a node loads boot files from, where that is not the one of its network. */
function bootServers(
  reader: EffectiveReader,
  resolve: Resolve,
  bootWorkers: BootWorkers | undefined,
): (node: string) => Promise<string | undefined> {
  const cache = new Map<string, string>();
  return async (node) => {
    const name = ownBootServer(reader, node);
    if (name === undefined) return bootWorkers?.(node)[0]?.address;
    const cached = cache.get(name);
    if (cached !== undefined) return cached;
    const ip = parseIp(name);
    if (!ip) checkHostName(name, `Node ${node}, noderes.tftpserver`);
    const found = ip ?? (await resolve(name));
    if (found?.family !== 4)
      throw fault({ node }, 'noderes.tftpserver', `${JSON.stringify(name.slice(0, 60))} leads to no IPv4 address`);
    cache.set(name, ipText(found));
    return ipText(found);
  };
}
