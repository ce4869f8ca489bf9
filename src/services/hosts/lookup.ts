import { lookup } from 'node:dns/promises';
import { type Ip, ipKind, parseIp } from '../../core/ip.ts';
import { limiter } from '../../core/limiter.ts';
import type { Resolve } from '../../objects/host-names.ts';
import type { HostLine } from './hosts-file.ts';

/** Each lookup keeps a thread of the few that file access needs too. */
const lookupsAtOnce = 2;
/** Milliseconds after which no further lookup is begun. */
const patience = 10_000;

/** Finds addresses of names in the hosts file and, if told so, the way the operating system does. */
export function makeResolve(lines: readonly HostLine[], askSystem: boolean): Resolve {
  const known = new Map<string, Ip>();
  for (const { ip, names } of lines) {
    if (!ip || ipKind(ip) !== 'host') continue;
    for (const name of names) if (!known.has(name.toLowerCase())) known.set(name.toLowerCase(), ip);
  }
  const deadline = Date.now() + patience;
  const inTurn = limiter(lookupsAtOnce);
  return (name) => {
    const found = known.get(name.toLowerCase());
    if (found || !askSystem) return Promise.resolve(found);
    return inTurn(async () => (Date.now() < deadline ? ask(name) : undefined));
  };
}

async function ask(name: string): Promise<Ip | undefined> {
  try {
    return parseIp((await lookup(name)).address);
  } catch {
    return undefined;
  }
}
