import { contains, type Ip, type Prefix, prefixOf, prefixText } from './ip.ts';

/** The network that an address is taken to be in unless a known one holds it, and the largest that is still worth naming. */
const usual = { 4: 24, 6: 64 } as const;
const largest = { 4: 8, 6: 16 } as const;

/** Finds a few networks that hold many addresses. */
export class EnclosingNetworks {
  readonly #smallestFirst: readonly Prefix[];
  readonly #known = new Set<Prefix>();
  readonly #usual = new Map<string, Prefix>();

  constructor(known: readonly Prefix[]) {
    this.#smallestFirst = known
      .filter(({ family, bits }) => bits >= largest[family])
      .toSorted((a, b) => b.bits - a.bits);
  }

  add(ip: Ip): void {
    const known = this.#smallestFirst.find((prefix) => contains(prefix, ip));
    const prefix = known ?? prefixOf(ip, usual[ip.family]);
    if (known) this.#known.add(prefix);
    else this.#usual.set(prefixText(prefix), prefix);
  }

  /** Known ones, and for the rest the smallest around those that lie together. Undefined if they are too far apart. */
  atMost(count: number): readonly Prefix[] | undefined {
    for (let wider = 0; wider <= usual[6] - largest[6]; wider++) {
      const networks = [...this.#known, ...grouped(this.#usual.values(), wider)];
      if (networks.length <= count) return networks.sort(inOrder);
    }
    return undefined;
  }
}

/** Those that are the same when so many bits are left out, as one that is no larger than it has to be. */
function grouped(prefixes: Iterable<Prefix>, wider: number): Iterable<Prefix> {
  const groups = new Map<string, Prefix>();
  for (const prefix of prefixes) {
    const group = prefixText(prefixOf(prefix, Math.max(largest[prefix.family], prefix.bits - wider)));
    groups.set(group, joined(groups.get(group) ?? prefix, prefix));
  }
  return groups.values();
}

function joined(a: Prefix, b: Prefix): Prefix {
  let { bits } = a;
  while (!contains(prefixOf(a, bits), b)) bits--;
  return prefixOf(a, bits);
}

const inOrder = (a: Prefix, b: Prefix): number => a.family - b.family || (a.value < b.value ? -1 : 1);
