import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { hasEnded, type LabChild } from './child.ts';

type Protocol = 'udp' | 'tcp';

/** The sockets of the network that a process is in. */
const socketTable = (protocol: Protocol, pid: number | 'self' = 'self'): string =>
  readFileSync(`/proc/${pid}/net/${protocol}`, 'latin1');

/** An IPv4 address and port as the kernel's socket tables show them. */
function kernelForm(address: string, port: number): string {
  const octets = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return `${octets.toReversed().join('')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

/** The line of a socket that waits for anybody: no peer, and for TCP the state of a listener (closed ones linger in the table). */
const boundLine = (protocol: Protocol, address: string, port: number): string =>
  ` ${kernelForm(address, port)} 00000000:0000 ${protocol === 'tcp' ? '0A' : ''}`;

/** Refuses addresses somebody else listens on: two labs on one prefix would answer for each other. */
export function refuseBound(protocol: Protocol, addresses: readonly string[], port: number): void {
  const table = socketTable(protocol);
  const taken = addresses.find((address) => table.includes(boundLine(protocol, address, port)));
  if (taken !== undefined) throw new Error(`Something listens on ${taken} port ${port} already. Use another prefix.`);
}

/** Waits until nobody listens on the addresses any more: a child of a daemon that has ended may have its socket for a moment. */
export async function waitFree(protocol: Protocol, addresses: readonly string[], port: number): Promise<void> {
  const isTaken = (address: string): boolean => socketTable(protocol).includes(boundLine(protocol, address, port));
  const deadline = Date.now() + 30_000;
  while (addresses.some(isTaken)) {
    if (Date.now() > deadline) throw new Error(`Something still listens on ${addresses.join(', ')} port ${port}.`);
    await pause(20);
  }
}

/** Waits until every address is bound, in the network of the first of these processes. */
export async function waitBound(
  protocol: Protocol,
  addresses: readonly string[],
  port: number,
  children: readonly LabChild[],
): Promise<void> {
  const deadline = Date.now() + 30_000;
  let missing = [...addresses];
  while (missing.length > 0) {
    const dead = children.find(hasEnded);
    if (dead) throw new Error(`A lab process ended: ${dead.log()}`);
    const table = socketTable(protocol, children[0]?.process.pid);
    missing = missing.filter((address) => !table.includes(boundLine(protocol, address, port)));
    if (missing.length === 0) return;
    if (Date.now() > deadline) {
      const logs = children.map(({ log }) => log()).join('');
      throw new Error(`Not listening after 30 s: ${missing.slice(0, 5).join(', ')}. The log: ${logs}`);
    }
    await pause(20);
  }
}
