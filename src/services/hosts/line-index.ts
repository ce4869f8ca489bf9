import { type Ip, ipKey } from '../../core/ip.ts';
import type { HostLine } from './hosts-file.ts';

type Lines = readonly number[];
const none: Lines = [];

/** Finds lines by their address and by their first name, but not the management node's own. */
export class LineIndex {
  readonly #ownNames = new Map<number | bigint, string[]>();
  readonly #byAddress = new Map<number | bigint, number[]>();
  readonly #byName = new Map<string, number[]>();

  /** `names`: names that mean themselves even if they look like another one with a domain, as n1-bond0.100 does. */
  constructor(lines: readonly HostLine[], isOwn: (line: HostLine) => boolean, names: ReadonlySet<string>) {
    for (const [i, line] of lines.entries()) {
      const [first] = line.names;
      if (!line.ip || first === undefined) continue;
      if (isOwn(line)) {
        note(this.#ownNames, ipKey(line.ip), ...line.names.map((name) => name.toLowerCase()));
        continue;
      }
      note(this.#byAddress, ipKey(line.ip), i);
      note(this.#byName, first, i);
      if (names.has(first)) continue;
      for (let dot = first.indexOf('.'); dot > 0; dot = first.indexOf('.', dot + 1))
        note(this.#byName, first.slice(0, dot), i);
    }
  }

  /** The names, in lower case, that lines of the management node give the address; undefined if there is no such line. */
  ownNames(ip: Ip): readonly string[] | undefined {
    return this.#ownNames.get(ipKey(ip));
  }

  /** Lines that have the address. */
  at(ip: Ip): Lines {
    return this.#byAddress.get(ipKey(ip)) ?? none;
  }

  /** Lines whose first name is this one, alone or with a domain. */
  named(name: string): Lines {
    return this.#byName.get(name) ?? none;
  }
}

function note<Key, Item>(index: Map<Key, Item[]>, key: Key, ...items: Item[]): void {
  const known = index.get(key);
  if (known) known.push(...items);
  else index.set(key, items);
}
