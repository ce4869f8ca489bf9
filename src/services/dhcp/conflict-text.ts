import type { Reservation } from './reservations.ts';

/** Says why a reservation cannot be beside another one, and what to do; `together`: one request asks for both. */
export function conflictText(added: Reservation, other: Reservation, together: boolean): string {
  const { node, mac, address, hostname } = added;
  const sameIp = added.ip !== undefined && address === other.address;
  if (other.node === node)
    return sameIp
      ? `Node ${node}, mac.mac: ${other.mac} and ${mac} would both get the address ${address}. Name a host of its own for one of them (MAC!host).`
      : `Node ${node}, mac.mac: the MAC address ${mac} is named twice, once with *NOIP*. Name it once.`;
  const where = sameIp ? (hostname === node ? 'hosts.ip' : `mac.mac with the host ${hostname}`) : 'mac.mac';
  const what = sameIp ? `the address ${address}` : `the MAC address ${mac}`;
  const whose = sameIp ? `${other.mac} of node ${other.node}` : `node ${other.node}`;
  if (together)
    return `Node ${node}, ${where}: ${what} is asked for ${whose} in the same request. Give one of the nodes another.`;
  const remedy = `POST /nodes/${other.node},${node}/dhcp if both were changed, or DELETE /nodes/${other.node}/dhcp first`;
  return `Node ${node}, ${where}: ${what} is reserved for ${whose} already. ${remedy}.`;
}
