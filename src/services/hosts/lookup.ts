import { lookup } from 'node:dns/promises';
import { type Ip, parseIp } from '../../core/ip.ts';
import { limiter } from '../../core/limiter.ts';
import type { Resolve } from '../../objects/host-names.ts';
import { addressesByName, type HostLine } from './hosts-file.ts';

/** Each lookup keeps a thread of the few that file access needs too. */
const lookupsAtOnce = 2;
/** Milliseconds after which a lookup has found nobody to ask, and of such lookups together after which none is begun any more. */
const lookupTimeout = 1_000;
const lostTimeout = 10_000;
/** Milliseconds after which none is begun in any case. */
const totalTimeout = 60_000;

/** Finds addresses of names in the hosts file and, if told so, the way the operating system does. */
export function makeResolve(readLines: () => readonly HostLine[], askSystem: boolean, lookUp: Resolve = ask): Resolve {
  // Most requests are about nodes that have addresses; they do not pay for it.
  let cache: ReadonlyMap<string, Ip> | undefined;
  const began = performance.now();
  let lost = 0;
  const inTurn = limiter(lookupsAtOnce);
  return async (name) => {
    const found = (cache ??= addressesByName(readLines())).get(name.toLowerCase());
    if (found || !askSystem) return found;
    return inTurn(async () => {
      const start = performance.now();
      if (lost >= lostTimeout || start - began >= totalTimeout) return undefined;
      const address = await lookUp(name);
      const took = performance.now() - start;
      if (took >= lookupTimeout) lost += took;
      return address;
    });
  };
}

async function ask(name: string): Promise<Ip | undefined> {
  try {
    return parseIp((await lookup(name)).address);
  } catch {
    return undefined;
  }
}
