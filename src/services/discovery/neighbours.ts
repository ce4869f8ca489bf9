import { readFileSync } from 'node:fs';

/** MAC addresses of the IPv4 neighbours that the kernel has talked to. */
export function neighbours(table = readTable()): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const line of table.split('\n').slice(1)) {
    const [address, , state, mac] = line.split(/\s+/);
    if (address && mac && state !== '0x0' && mac !== '00:00:00:00:00:00') found.set(address, mac);
  }
  return found;
}

function readTable(): string {
  try {
    return readFileSync('/proc/net/arp', 'latin1');
  } catch {
    // Not every kernel has it, and no device is less found without its MAC.
    return '';
  }
}
