import { statSync } from 'node:fs';
import { type Ip, ipText } from '../../core/ip.ts';
import { addressesByName, type HostLine, readHosts } from '../hosts/hosts-file.ts';

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

/** Asking for few nodes of a large file costs little: what is looked up is made ready when it is first asked for. */
function mappingOf(lines: readonly HostLine[]): HostsMapping {
  let byAddress: Map<string, HostLine[]> | undefined;
  let byName: ReadonlyMap<string, Ip> | undefined;
  return {
    lines,
    has: (ip, names) => {
      byAddress ??= Map.groupBy(lines, ({ address }) => address);
      const wanted = names.map((name) => name.toLowerCase());
      const found = byAddress.get(ipText(ip)) ?? [];
      return found.some((line) => line.names.some((name) => wanted.includes(name.toLowerCase())));
    },
    addressOf: (name) => (byName ??= addressesByName(lines)).get(name.toLowerCase()),
  };
}
