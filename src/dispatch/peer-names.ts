import { lookup, reverse } from 'node:dns/promises';

const cacheTime = 60_000;
const cacheSize = 10_000;
const cache = new Map<string, { until: number; names: Promise<readonly string[]> }>();

/** Names of a peer that also lead back to its address; policy rules may name hosts by them. */
export function peerNames(address: string): Promise<readonly string[]> {
  const now = Date.now();
  let entry = cache.get(address);
  if (!entry || entry.until < now) {
    if (cache.size >= cacheSize) cache.clear();
    cache.set(address, (entry = { until: now + cacheTime, names: confirmedNames(address) }));
  }
  return entry.names;
}

async function confirmedNames(address: string): Promise<readonly string[]> {
  const claimed = await reverse(address).catch(() => []);
  const confirmed: string[] = [];
  for (const name of claimed.slice(0, 16)) {
    const addresses = await lookup(name, { all: true }).catch(() => []);
    if (addresses.some((found) => found.address === address))
      confirmed.push(name.toLowerCase(), name.toLowerCase().split('.', 1)[0]!);
  }
  return [...new Set(confirmed)];
}
