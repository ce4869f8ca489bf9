import { Fault } from '../../core/errors.ts';
import { type Ip, ipKind, ipText, isSameIp, parseIp } from '../../core/ip.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { interfacesOf } from '../../objects/host-interfaces.ts';
import type { HostEntry } from '../../objects/host-names.ts';
import type { ManagementNode } from '../../objects/networks.ts';
import type { RefusedNodes } from '../../objects/select.ts';
import type { HostLine } from './hosts-file.ts';

export const nameOrders = ['short', 'long', 'others'] as const;

/** Which of the names stands first in a line. */
export type NameOrder = (typeof nameOrders)[number];

export interface LineFormat {
  readonly order: NameOrder;
  /** Other names appear with the domain too. */
  readonly longOthers: boolean;
}

/** A line that ends with short and long name has a blank behind them, as the reference system writes it. */
export function formatLine({ ip, short, long, others }: HostEntry, { order, longOthers }: LineFormat): string {
  const domain = long.slice(short.length);
  const all = longOthers ? others.flatMap((name) => (name.includes('.') ? name : [name + domain, name])) : others;
  const rest = all.join(' ');
  const names = order === 'short' ? [short, long, rest] : order === 'long' ? [long, short, rest] : [rest, long, short];
  return `${ipText(ip)} ${names.join(' ').trimStart()}\n`;
}

/** Whether a line of the hosts file is this machine's own: loopback, localhost, one of its addresses, or its name. */
export const isOwnLine = (own: ManagementNode, { ip, names }: Pick<HostLine, 'ip' | 'names'>): boolean =>
  ip !== undefined && (ipKind(ip) !== 'host' || own.hasAddress(ip) || names.some(own.hasName));

/**
 * Whether an entry is of the management node itself, which may be defined as a node; its lines are its own affair. Another node that
 * has its address or its name is refused. `hasOwnLine`: a line of the management node has the address, whether it is true or not.
 */
export function isOwnEntry(
  own: ManagementNode,
  { node, ip, short, attribute }: HostEntry,
  hasOwnLine = false,
): boolean {
  const where = `Node ${node}, ${attribute}: ${ipText(ip)} is`;
  const isAddress = own.hasAddress(ip);
  if (isAddress || hasOwnLine) {
    if (own.hasName(node)) return true;
    const remedy = isAddress ? '; give the node another address' : ' by a line of the hosts file; correct one of them';
    throw new Fault('invalid', `${where} an address of this management node${remedy}.`);
  }
  if (!own.hasName(short)) return false;
  throw new Fault(
    'invalid',
    `${where} no address of this management node, whose name the node has; give the node another name, or an address of this machine.`,
  );
}

/** Refuses nodes with an address that the file gives to another node which still has it. Looks only at nodes that those lines name. */
export function checkHolders(
  reader: EffectiveReader,
  lines: readonly HostLine[],
  entries: readonly HostEntry[],
  nodes: ReadonlySet<string>,
  refused: RefusedNodes,
): void {
  const wanted = new Map(entries.map((entry) => [ipText(entry.ip), entry]));
  for (const line of lines) {
    const entry = wanted.get(line.address);
    if (!entry) continue;
    // Most of these lines are the entry's own; they must not cost much.
    const others = line.names.filter(
      (name) => name !== entry.short && name !== entry.long && !entry.others.includes(name),
    );
    const holder = others
      .flatMap(nodesMeant)
      .find((node) => !nodes.has(node) && reader.nodeRow(node) && hasAddress(reader, node, entry.ip));
    if (holder === undefined) continue;
    refused.refuse(entry.node, [
      `Node ${entry.node}, ${entry.attribute}: node ${holder} has the address ${ipText(entry.ip)} too, and its line in the hosts file; give one of them another address.`,
    ]);
  }
}

/** Nodes that a name may be of: names of interfaces have something before or behind the node's, set off by "-". */
function nodesMeant(name: string): string[] {
  const host = name.split('.', 1)[0]!;
  const parts = host.split('-');
  return [
    name,
    ...parts.map((_, i) => parts.slice(0, i + 1).join('-')),
    ...parts.map((_, i) => parts.slice(i).join('-')),
  ];
}

function hasAddress(reader: EffectiveReader, node: string, ip: Ip): boolean {
  try {
    return interfacesOf(reader, node).some((found) => {
      const other = parseIp(found.ip ?? '');
      return other !== undefined && isSameIp(other, ip);
    });
  } catch (error) {
    // A definition that cannot be read is refused where it is used; it keeps no address from others.
    if (error instanceof Fault) return false;
    throw error;
  }
}
