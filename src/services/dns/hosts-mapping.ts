import { statSync } from 'node:fs';
import { type Ip, ipKind, ipText } from '../../core/ip.ts';
import { type HostLine, readHosts } from '../hosts/hosts-file.ts';

/** The hosts file as DNS sees it: which address has which names. */
export interface HostsMapping {
  readonly lines: readonly HostLine[];
  /** Whether a line gives the address one of the names. */
  has(ip: Ip, names: readonly string[]): boolean;
  addressOf(name: string): Ip | undefined;
}

/** Reads the file again only when it has changed: one more node must not cost as much as all of them. */
export class HostsReader {
  readonly path: string;
  #stamp = '';
  #mapping: HostsMapping = mappingOf([]);

  constructor(path: string) {
    this.path = path;
  }

  read(): HostsMapping {
    const stat = statSync(this.path, { bigint: true, throwIfNoEntry: false });
    const stamp = stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}` : '';
    if (stamp !== this.#stamp) {
      this.#mapping = mappingOf(readHosts(this.path));
      this.#stamp = stamp;
    }
    return this.#mapping;
  }
}

function mappingOf(lines: readonly HostLine[]): HostsMapping {
  const pairs = new Set<string>();
  const addresses = new Map<string, Ip>();
  for (const { ip, names } of lines) {
    if (!ip) continue;
    const address = ipText(ip);
    for (const name of names) {
      const lower = name.toLowerCase();
      pairs.add(`${address} ${lower}`);
      if (ipKind(ip) === 'host' && !addresses.has(lower)) addresses.set(lower, ip);
    }
  }
  return {
    lines,
    has: (ip, names) => names.some((name) => pairs.has(`${ipText(ip)} ${name.toLowerCase()}`)),
    addressOf: (name) => addresses.get(name.toLowerCase()),
  };
}
