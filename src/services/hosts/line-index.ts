import { type Ip, ipText } from '../../core/ip.ts';
import type { HostLine } from './hosts-file.ts';

type Lines = readonly number[];
const none: Lines = [];

export interface Wanted {
  readonly name: string;
  readonly ip: Ip | undefined;
}

/** Finds lines by their address and by their first name, but not the management node's own. */
export class LineIndex {
  readonly #ownNames = new Map<string, string[]>();
  readonly #byAddress = new Map<string, number[]>();
  readonly #byName = new Map<string, number[]>();

  /** Nothing else than what is `wanted` can be asked for: all other lines of a large file cost little. */
  constructor(lines: readonly HostLine[], isOwn: (line: HostLine) => boolean, wanted: readonly Wanted[]) {
    const names = new Set(wanted.map(({ name }) => name));
    const addresses = new Set(wanted.map(({ ip }) => (ip ? ipText(ip) : '')));
    for (const [i, line] of lines.entries()) {
      const { address, first } = line;
      if (first === undefined) continue;
      const isAt = addresses.has(address);
      const named = namesMeant(first, names);
      if ((!isAt && named.length === 0) || !line.ip) continue;
      if (isOwn(line)) {
        if (isAt) note(this.#ownNames, address, ...line.names.map((name) => name.toLowerCase()));
        continue;
      }
      if (isAt) note(this.#byAddress, address, i);
      for (const name of named) note(this.#byName, name, i);
    }
  }

  /** The names, in lower case, that lines of the management node give the address; undefined if there is no such line. */
  ownNames(ip: Ip): readonly string[] | undefined {
    return this.#ownNames.get(ipText(ip));
  }

  at(ip: Ip): Lines {
    return this.#byAddress.get(ipText(ip)) ?? none;
  }

  /** Lines whose first name is this one, alone or with a domain. */
  named(name: string): Lines {
    return this.#byName.get(name) ?? none;
  }
}

/** The names that a first name can be, with a domain behind them; a name that means itself, as n1-bond0.100 does, has none. */
function namesMeant(first: string, names: ReadonlySet<string>): string[] {
  if (names.has(first)) return [first];
  const meant: string[] = [];
  for (let dot = first.indexOf('.'); dot > 0; dot = first.indexOf('.', dot + 1))
    if (names.has(first.slice(0, dot))) meant.push(first.slice(0, dot));
  return meant;
}

function note<Item>(index: Map<string, Item[]>, key: string, ...items: Item[]): void {
  const known = index.get(key);
  if (known) known.push(...items);
  else index.set(key, items);
}
