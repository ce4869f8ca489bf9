import { Fault } from '../../core/errors.ts';
import { ipText, prefixText } from '../../core/ip.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { tableNamed } from '../../database/tables.ts';
import { knownNodes } from '../../objects/cluster.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { allNodes, haveSameMembers } from '../../objects/groups.ts';
import { hostEntries } from '../../objects/host-names.ts';
import { networksOf } from '../../objects/networks.ts';
import { RefusedNodes } from '../../objects/select.ts';
import type { Placeholder } from '../answers/placeholders.ts';

/** What `#ITEM:...#` stands for in a loop. */
export type Item = Readonly<Record<string, string>>;

/** How often all loops in the templates of a node go round together: as over 1,000 hosts for each of 1,000 hosts. */
const mostRounds = 1_000_000;

interface Basis {
  readonly reader: EffectiveReader;
  readonly node: string;
  readonly sees?: ((node: string) => boolean) | undefined;
}

/** What the loops in the templates of a node go over, each looked up once: a loop within another asks for it in each round. */
export class OverlayLoops {
  readonly #basis: Basis;
  readonly #found = new Map<string, readonly Item[]>();
  #hosts: readonly Item[] = [];
  #rounds = 0;

  constructor(basis: Basis) {
    this.#basis = basis;
  }

  /** Comes before the work that goes on in slices: to read all hosts takes its own turns. */
  async readHosts(): Promise<void> {
    this.#hosts = await hostItems(this.#basis.reader.snapshot);
  }

  items(over: Placeholder): readonly Item[] {
    let items = this.#found.get(over.text);
    if (!items) this.#found.set(over.text, (items = this.#lookUp(over)));
    return items;
  }

  countRound({ where, text }: Placeholder): void {
    if (++this.#rounds > mostRounds)
      throw new Fault(
        'invalid',
        `${where}: ${text}: the loops in the templates of ${this.#basis.node} go round more than ${mostRounds} times together. Put fewer loops into each other, or choose fewer hosts with #EACH:hosts:NODERANGE#.`,
      );
  }

  #lookUp({ argument = '', text, where }: Placeholder): readonly Item[] {
    const { reader, node } = this.#basis;
    const [kind = '', ...rest] = argument.split(':');
    const range = rest.join(':').trim();
    if (range !== '' && kind !== 'hosts')
      throw new Fault('invalid', `${where}: ${text}: only hosts are chosen by a noderange.`);
    if (kind === 'networks')
      return networksOf(reader.snapshot).map(({ name, row, prefix }) => ({
        ...Object.fromEntries(networkColumns.map((column) => [column, row[column] ?? ''])),
        name,
        prefix: prefixText(prefix),
      }));
    if (kind === 'groups') return reader.groupsOf(node).map((name) => ({ name }));
    if (kind === 'hosts') return this.#hostsIn(range, where);
    throw new Fault(
      'invalid',
      `${where}: ${text} is not known; there are networks, groups, hosts and hosts:NODERANGE.`,
    );
  }

  #hostsIn(range: string, where: string): readonly Item[] {
    const { reader, sees } = this.#basis;
    const chosen = range === '' ? undefined : new Set(inRange(reader.snapshot, range, where));
    return this.#hosts.filter(({ node }) => (chosen?.has(node!) ?? true) && (sees?.(node!) ?? true));
  }
}

const networkColumns = tableNamed('networks').columns;

/** What names and addresses of hosts are made of, besides the names and groups of nodes. */
const tablesOfHosts = ['hosts', 'nics', 'networks', 'site'] as const;

let latest: { readonly snapshot: Snapshot; readonly hosts: Promise<readonly Item[]> } | undefined;

/** Names and addresses of all nodes. While nodes boot, each report makes a snapshot; hosts are the same in almost all of them. */
export function hostItems(snapshot: Snapshot): Promise<readonly Item[]> {
  const hosts = latest && haveSameHosts(latest.snapshot, snapshot) ? latest.hosts : readHostItems(snapshot);
  latest = { snapshot, hosts };
  return hosts;
}

const haveSameHosts = (a: Snapshot, b: Snapshot): boolean =>
  tablesOfHosts.every((table) => a.rows(table) === b.rows(table)) && haveSameMembers(a, b);

/** As makehosts has them; a node that cannot be used stops no other. */
async function readHostItems(snapshot: Snapshot): Promise<readonly Item[]> {
  const { entries } = await hostEntries(snapshot, allNodes(snapshot), async () => undefined, new RefusedNodes());
  return entries.map(({ node, ip, short, long, others }) => ({
    node,
    ip: ipText(ip),
    name: short,
    long,
    names: [...new Set([long, short, ...others])].join(' '),
  }));
}

function inRange(snapshot: Snapshot, range: string, where: string): readonly string[] {
  try {
    return knownNodes(snapshot, range);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault('invalid', `${where}: ${error.message}`, { cause: error });
  }
}
