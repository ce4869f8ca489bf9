import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import { eachInSlices, type Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import type { RangeOptions } from '../objects/cluster.ts';
import { changeObject } from '../objects/define.ts';
import { type EffectiveReader, effectiveReader } from '../objects/effective.ts';
import { allNodes } from '../objects/groups.ts';
import { nodeAttribute } from '../objects/node-attributes.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { type ServiceNode, ServiceNodes, serviceNodesOf } from '../objects/service-nodes.ts';
import { nodeType } from '../objects/types.ts';
import { type Answer, type Arguments, change, type Selection, selectNodes } from './command.ts';

const args = Type.Object({
  range: Type.Optional(Type.String({ description: 'without it all nodes whose first service node is `from`' })),
  from: Type.Optional(Type.String({ description: 'the service node that they have now' })),
  fromxcatmaster: Type.Optional(Type.String({ description: 'the same as the nodes know it' })),
  servicenode: Type.Optional(Type.String({ description: 'the new one; without it the second of each node' })),
  xcatmaster: Type.Optional(Type.String({ description: 'the same as the nodes know it' })),
});

type SnmoveArgs = Arguments<typeof args>;

const option = (name: string, value: string | undefined): string[] =>
  value === undefined ? [] : [name, withoutSecrets(value)];

/** Moves nodes to another service node; what runs on the nodes afterwards is another request. */
export const snmove = change({
  name: 'snmove',
  args,
  line: ({ from, fromxcatmaster, servicenode, xcatmaster }) => [
    ...option('-s', from),
    ...option('-S', fromxcatmaster),
    ...option('-d', servicenode),
    ...option('-D', xcatmaster),
  ],
  // Work on the nodes goes through it.
  actsOn: ({ servicenode }) => (servicenode === undefined ? [] : [{ kind: 'host', name: servicenode }]),
  *select(snapshot, { range, from = '' }, { ranges }): Interruptible<Selection> {
    if (range !== undefined) return selectNodes(snapshot, { range, refuseEmpty: true }, { ranges });
    const nodes = yield* nodesBehind(snapshot, from, ranges.sees);
    return { objects: nodes, nodes };
  },
  *plan(draft, given, { ranges, selection: { nodes = [] } }): Interruptible<Answer> {
    // Not said before the policy has answered: whoever may not ask does not hear which names are service nodes.
    if (nodes.length === 0)
      throw new Fault(
        'invalid',
        `No node has "${given.from}" as its first service node (servicenode). Nothing was changed.`,
      );
    const reader = effectiveReader(draft.base);
    const known = new ServiceNodes(reader, ranges.sees);
    checkDestination(known, given.servicenode);
    const moves = new Moves(reader, known, given);
    yield* eachInSlices(nodes, (node) => moves.add(node));
    moves.refuse();
    yield* eachInSlices(moves.made, ([node, attributes]) => {
      const changed = Object.entries(attributes).filter(([name, value]) => nodeAttribute(reader, node, name) !== value);
      changeObject(draft, nodeType, node, Object.fromEntries(changed), 'set', ranges);
    });
    return { shape: 'value', value: nodes, notes: moves.notes() };
  },
});

function* nodesBehind(snapshot: Snapshot, first: string, sees: RangeOptions['sees']): Interruptible<readonly string[]> {
  const reader = effectiveReader(snapshot);
  const known = new ServiceNodes(reader, sees);
  const found: string[] = [];
  yield* eachInSlices(allNodes(snapshot), (node) => {
    const [own] = serviceNodesOf(reader, node);
    if (own !== undefined && (!sees || sees(node)) && known.isNamed(first, own)) found.push(node);
  });
  return found;
}

/** A typing mistake would cut the nodes off. */
function checkDestination(known: ServiceNodes, name: string | undefined): void {
  if (name === undefined || known.exists(name)) return;
  throw new Fault(
    'unknown-object',
    `There is no node "${name}" that could be the new service node. Nothing was changed.`,
    { missing: [name] },
  );
}

const stateliteTable = tableNamed('statelite');
const dhcphostTable = tableNamed('dhcphost');

/** The moves of nodes, and all that is in their way or still to be done, each said once for all nodes that it is about. */
class Moves {
  readonly #reader: EffectiveReader;
  readonly #known: ServiceNodes;
  readonly #args: SnmoveArgs;
  readonly made: [node: string, attributes: Record<string, string>][] = [];
  readonly #refusals = new Map<string, { readonly remedy: (nodes: string) => string; readonly nodes: string[] }>();
  readonly #stale: Record<'dhcp' | 'statelite', string[]> = { dhcp: [], statelite: [] };

  constructor(reader: EffectiveReader, known: ServiceNodes, given: SnmoveArgs) {
    this.#reader = reader;
    this.#known = known;
    this.#args = given;
  }

  add(node: string): void {
    const { from, servicenode, xcatmaster } = this.#args;
    const list = serviceNodesOf(this.#reader, node);
    const [first, second] = list;
    if (from !== undefined && (first === undefined || !this.#known.isNamed(from, first)))
      return this.#refuse(node, `its first service node is not ${from}`, () => 'Leave it out of the nodes.');
    const name = servicenode ?? second;
    if (name === undefined) {
      const what = first === undefined ? 'servicenode is not set' : `${first} is its only service node`;
      return this.#refuse(
        node,
        `${what}, so there is no second one to move to`,
        (nodes) => `Name the new one: PUT /nodes/${nodes}/servicenode {"servicenode":"NAME"}.`,
      );
    }
    if (this.#known.isNamed(node, name))
      return this.#refuse(node, 'it cannot be its own service node', () => 'Leave it out of the nodes.');
    const { address, problem } =
      xcatmaster === undefined ? this.#known.addressTowards(node, name) : { address: xcatmaster };
    if (address === undefined)
      return this.#refuse(
        node,
        `${problem}, so muster does not know at which address it reaches ${name}`,
        (nodes) =>
          `Give the address: PUT /nodes/${nodes}/servicenode {"servicenode":"${name}","xcatmaster":"ADDRESS"}.`,
      );
    this.#move(node, first, { name, address });
  }

  /** Nothing is changed if one node cannot be moved. */
  refuse(): void {
    if (this.#refusals.size === 0) return;
    const sentences = [...this.#refusals].map(([problem, { remedy, nodes }]) => {
      const range = nodes.length > mostNamed ? 'NODERANGE' : nodes.join(',');
      return `${named(nodes)}: ${problem}. ${remedy(range)}`;
    });
    throw new Fault('invalid', [...sentences, 'Nothing was changed.']);
  }

  notes(): readonly string[] {
    const { dhcp, statelite } = this.#stale;
    const range = dhcp.length > mostNamed ? 'NODERANGE' : dhcp.join(',');
    return [
      ...(dhcp.length > 0
        ? [`DHCP still names the old boot server (tftpserver) of ${named(dhcp)}: POST /nodes/${range}/dhcp.`]
        : []),
      ...(statelite.length > 0
        ? [
            `The table statelite still names the old service node for ${named(statelite)}: copy the files to the new one, then change statemnt. GET /tables/statelite/rows shows the rows.`,
          ]
        : []),
    ];
  }

  #refuse(node: string, problem: string, remedy: (nodes: string) => string): void {
    const same = this.#refusals.get(problem);
    if (same) same.nodes.push(node);
    else this.#refusals.set(problem, { remedy, nodes: [node] });
  }

  #move(node: string, first: string | undefined, to: ServiceNode): void {
    const master = this.#args.fromxcatmaster ?? nodeAttribute(this.#reader, node, 'xcatmaster');
    const old = [first, master].flatMap((each) => each || []);
    const attributes = this.#known.attributesAfterMove(node, old, to);
    this.made.push([node, attributes]);
    const { tftpserver } = attributes;
    const isNewServer = tftpserver !== undefined && tftpserver !== nodeAttribute(this.#reader, node, 'tftpserver');
    if (isNewServer && this.#reader.ownRows(dhcphostTable, node).length > 0) this.#stale.dhcp.push(node);
    const [server = ''] = (this.#reader.row(stateliteTable, node)?.['statemnt'] ?? '').split(':');
    if (old.some((host) => this.#known.isNamed(host, server))) this.#stale.statelite.push(node);
  }
}

const mostNamed = 10;

const named = (nodes: readonly string[]): string =>
  nodes.length > mostNamed
    ? `${nodes.slice(0, mostNamed).join(', ')} and ${nodes.length - mostNamed} more`
    : nodes.join(', ');
