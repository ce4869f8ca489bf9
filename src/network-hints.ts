import { setImmediate as pause } from 'node:timers/promises';
import type { Context } from './context.ts';
import { contains, type Ip, parseIp, type Prefix, prefixOf, prefixText } from './core/ip.ts';
import type { Snapshot } from './database/snapshot.ts';
import { effectiveReader } from './objects/effective.ts';
import { networksOf } from './objects/networks.ts';
import { nodeAttribute } from './objects/node-attributes.ts';

const mostNetworks = 4;
/** Nodes that are looked at before others get their turn. */
const perTurn = 200;

/** Says which settings leave it open where secrets and commands go, and what they would have to be for the nodes there are. */
export async function hintNetworks({ config, store, log }: Pick<Context, 'config' | 'store' | 'log'>): Promise<void> {
  const hint = async (setting: string, attribute: string, what: string): Promise<void> => {
    const offer = await offerFor(store.current, setting, attribute);
    const open = `${setting} is not set: ${what} is sent to whatever address the attribute ${attribute} of a node gives.`;
    log[offer === '' ? 'info' : 'warn'](`${open}${offer}`);
  };
  if (!config.hardware.networks) await hint('hardware.networks', 'bmc', 'the account of a BMC');
  if (!config.remote.networks) await hint('remote.networks', 'ip', 'what is meant for a node');
}

/** The setting for all nodes that there are, as a line of the configuration file. */
async function offerFor(snapshot: Snapshot, setting: string, attribute: string): Promise<string> {
  const reader = effectiveReader(snapshot);
  const networks = new EnclosingNetworks(networksOf(snapshot).map(({ prefix }) => prefix));
  let named = 0;
  for (const [i, node] of snapshot.rows('nodelist').keys().entries()) {
    if (i % perTurn === 0) await pause();
    const [value = ''] = (nodeAttribute(reader, node, attribute) ?? '').split(',', 1);
    const ip = parseIp(value);
    if (ip) networks.add(ip);
    else if (value !== '') named++;
  }
  const few = networks.atMost(mostNetworks);
  const names = named === 0 ? '' : ` ${named} nodes have a name there, whose networks are not known here.`;
  if (!few) return ` The nodes are in more than ${mostNetworks} networks.${names}`;
  if (few.length === 0) return names;
  const list = few.map((prefix) => `"${prefixText(prefix)}"`).join(', ');
  return `${names} For the nodes that are defined: ${setting} = [${list}]`;
}

/** The network that an address is taken to be in unless a defined one holds it, and the largest that is still worth naming. */
const usual = { 4: 24, 6: 64 } as const;
const largest = { 4: 8, 6: 16 } as const;

/** Finds a few networks that hold many addresses. */
export class EnclosingNetworks {
  readonly #smallestFirst: readonly Prefix[];
  readonly #defined = new Set<Prefix>();
  readonly #usual = new Map<string, Prefix>();

  constructor(defined: readonly Prefix[]) {
    this.#smallestFirst = defined
      .filter(({ family, bits }) => bits >= largest[family])
      .toSorted((a, b) => b.bits - a.bits);
  }

  add(ip: Ip): void {
    const defined = this.#smallestFirst.find((prefix) => contains(prefix, ip));
    const prefix = defined ?? prefixOf(ip, usual[ip.family]);
    if (defined) this.#defined.add(prefix);
    else this.#usual.set(prefixText(prefix), prefix);
  }

  /** Defined ones, and for the rest the smallest around those that lie together. Undefined if they are too far apart. */
  atMost(count: number): readonly Prefix[] | undefined {
    for (let wider = 0; wider <= usual[6] - largest[6]; wider++) {
      const networks = [...this.#defined, ...grouped(this.#usual.values(), wider)];
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
