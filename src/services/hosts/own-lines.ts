import { Fault } from '../../core/errors.ts';
import { ipKind, ipText } from '../../core/ip.ts';
import type { HostEntry } from '../../objects/host-names.ts';
import type { ManagementNode } from '../../objects/management-node.ts';
import type { HostLine } from './hosts-file.ts';

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
