import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { hasEnded, type LabChild } from './child.ts';

const socketTables = { udp: '/proc/net/udp', tcp: '/proc/net/tcp' } as const;

/** An IPv4 address and port as the kernel's socket tables show them. */
function kernelForm(address: string, port: number): string {
  const octets = address.split('.').map((octet) => Number(octet).toString(16).padStart(2, '0'));
  return `${octets.toReversed().join('')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
}

/** The line of a socket that waits for anybody: no peer, and for TCP the state of a listener (closed ones linger in the table). */
const boundLine = (protocol: keyof typeof socketTables, address: string, port: number): string =>
  ` ${kernelForm(address, port)} 00000000:0000 ${protocol === 'tcp' ? '0A' : ''}`;

/** Refuses addresses somebody else listens on: two labs on one prefix would answer for each other. */
export function refuseBound(protocol: keyof typeof socketTables, addresses: readonly string[], port: number): void {
  const table = readFileSync(socketTables[protocol], 'latin1');
  const taken = addresses.find((address) => table.includes(boundLine(protocol, address, port)));
  if (taken !== undefined) throw new Error(`Something listens on ${taken} port ${port} already. Use another prefix.`);
}

/** Waits until every address is bound. */
export async function waitBound(
  protocol: keyof typeof socketTables,
  addresses: readonly string[],
  port: number,
  children: readonly LabChild[],
): Promise<void> {
  const deadline = Date.now() + 30_000;
  let missing = [...addresses];
  while (missing.length > 0) {
    const table = readFileSync(socketTables[protocol], 'latin1');
    missing = missing.filter((address) => !table.includes(boundLine(protocol, address, port)));
    if (missing.length === 0) return;
    const dead = children.find(hasEnded);
    if (dead) throw new Error(`A lab process ended: ${dead.log()}`);
    if (Date.now() > deadline) {
      const logs = children.map(({ log }) => log()).join('');
      throw new Error(`Not listening after 30 s: ${missing.slice(0, 5).join(', ')}. The log: ${logs}`);
    }
    await pause(20);
  }
}
