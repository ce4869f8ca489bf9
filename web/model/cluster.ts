// All nodes as the pages show them: read once, then kept up to date by events.
import { get, inPath, lines, Refusal } from '../api/client.ts';
import type { NodesReply, ServerEvent } from '../api/types.ts';
import type { ClusterNode } from './cluster-node.ts';
import { byName, folded } from './ranges.ts';
import { Store } from './store.ts';

export type { ClusterNode };

interface Cluster {
  readonly state: 'loading' | 'ready' | 'failed';
  readonly error?: string;
  readonly nodes: readonly ClusterNode[];
  /** Where each is in the list. */
  readonly places: ReadonlyMap<string, number>;
}

export const cluster = new Store<Cluster>({ state: 'loading', nodes: [], places: new Map() });

/** What the pages show of every node. */
const shown: readonly string[] = [
  'status',
  'statustime',
  'groups',
  'rack',
  'unit',
  'provmethod',
  'os',
  'arch',
  'mgt',
  'servicenode',
];
/** What somebody wants to see besides. */
let wanted: readonly string[] = [];
const most = 400;

const read = (range: string, attributes: readonly string[] = [...shown, ...wanted]): Promise<NodesReply> =>
  get(`/nodes/${inPath(range)}/attrs/${attributes.map(inPath).join(',')}`);

/** Attributes of all nodes that the account sees: with rights on some nodes only it has to name them. */
export async function readAll(attributes?: readonly string[]): Promise<NodesReply> {
  try {
    return await read('ALLRESOURCES', attributes);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 403) throw error;
  }
  const names = await get<readonly string[]>('/session/nodes');
  const replies = names.length === 0 ? [] : await Promise.all(rangesOf(names).map((range) => read(range, attributes)));
  return Object.assign({}, ...replies) as NodesReply;
}

export async function loadCluster(): Promise<void> {
  try {
    const reply = await readAll();
    const before = cluster.value;
    const nodes = Object.entries(reply)
      .map(([name, attributes]): ClusterNode => ({ ...nodeNamed(before, name), name, attributes }))
      .sort((a, b) => byName(a.name, b.name));
    publish(nodes);
  } catch (error) {
    if (cluster.value.state !== 'ready')
      cluster.set({ ...cluster.value, state: 'failed', error: (error as Error).message });
  }
}

/** Reads attributes of all nodes that are not read anyway, and keeps them up to date from then on. */
export async function show(attributes: readonly string[]): Promise<void> {
  const more = [...new Set(attributes)].filter((name) => !shown.includes(name));
  const unread = more.filter((name) => !wanted.includes(name));
  if (unread.length > 0) {
    const reply = await readAll(unread);
    update(Object.keys(reply), (node) => ({ ...node, attributes: { ...node.attributes, ...reply[node.name] } }));
  }
  wanted = more;
}

const publish = (nodes: readonly ClusterNode[]): void =>
  cluster.set({ state: 'ready', nodes, places: new Map(nodes.map(({ name }, place) => [name, place])) });

/** Other values of some nodes. */
function update(names: readonly string[], change: (node: ClusterNode) => ClusterNode): void {
  const { nodes, places } = cluster.value;
  const changed = [...nodes];
  for (const name of names) {
    const place = places.get(name);
    if (place !== undefined) changed[place] = change(changed[place]!);
  }
  // The places stay: only values are others.
  cluster.set({ state: 'ready', nodes: changed, places });
}

export function nodeNamed({ nodes, places }: Cluster, name: string): ClusterNode | undefined {
  const place = places.get(name);
  return place === undefined ? undefined : nodes[place];
}

/** What was read of these nodes by itself; of some it may not be known any more. */
export function merge(names: ReadonlySet<string>, member: 'temperature' | 'bootStep', found: Found): void {
  publish(
    cluster.value.nodes.map((node) => {
      if (!names.has(node.name)) return node;
      const { [member]: before, ...rest } = node;
      const now = found.get(node.name);
      if (now === undefined) return before === undefined ? node : rest;
      return { ...rest, [member]: now };
    }),
  );
}
type Found = ReadonlyMap<string, ClusterNode['temperature'] | string>;

const tablesShown = new Set(['nodelist', 'nodepos', 'nodetype', 'noderes', 'nodehm']);
let again: { names: Set<string>; all: boolean } | undefined;

/** Definitions that changed are read again, many changes at once. */
function readAgain(names: readonly string[], all: boolean): void {
  if (!again) {
    again = { names: new Set(), all: false };
    setTimeout(() => {
      const { names: changed, all: every } = again!;
      again = undefined;
      if (every || changed.size > most) void loadCluster();
      else void refresh([...changed]);
    }, 250);
  }
  for (const name of names) again.names.add(name);
  again.all ||= all;
}

async function refresh(names: readonly string[]): Promise<void> {
  try {
    const reply = await read(names.join(','));
    update(names, (node) => ({ ...node, attributes: reply[node.name] ?? node.attributes }));
  } catch {
    // One of them is gone, or was renamed.
    await loadCluster();
  }
}

/** A BMC that answers is no trouble any more; what hardware reported stays. */
function withoutTrouble(node: ClusterNode): ClusterNode {
  if (node.severity !== undefined) return node;
  const { trouble: _, ...rest } = node;
  return rest;
}

/** What an event says of nodes. */
export function apply(event: ServerEvent): void {
  if (event.kind === 'gap') void loadCluster();
  if (event.kind === 'power') update(event.nodes, (node) => ({ ...withoutTrouble(node), power: event.power }));
  if (event.kind === 'status' && event.status !== undefined) {
    const { status } = event;
    update(event.nodes, (node) => ({ ...node, attributes: { ...node.attributes, status } }));
  }
  if (event.kind === 'hardware' && event.severity !== 'ok') {
    const { severity, message } = event;
    update(event.nodes, (node) => ({ ...node, severity, trouble: message }));
  }
  if (event.kind === 'change') {
    const rows = event.rows.filter(({ table, nodes }) => tablesShown.has(table) || (wanted.length > 0 && nodes));
    const names = rows.flatMap(({ nodes = [] }) => nodes);
    const known = cluster.value.places;
    // What a group gives concerns its members, and a name that is not known may be a new node.
    if (rows.length > 0) readAgain(names, names.length === 0 || names.some((name) => !known.has(name)));
  }
}

export const asking = new Store(false);

interface PowerLine {
  readonly node?: string;
  readonly value?: { readonly power?: string };
  readonly error?: string;
}

/** Bytes of a URL that every proxy takes. */
const longestRange = 6_000;

/** Nodes in ranges that fit into a URL. */
export function rangesOf(names: readonly string[]): string[] {
  const range = folded(names);
  if (encodeURIComponent(range).length <= longestRange || names.length === 1) return [range];
  const half = Math.ceil(names.length / 2);
  return [...rangesOf(names.slice(0, half)), ...rangesOf(names.slice(half))];
}

/** Asks BMCs for the power of nodes that have one; answers come as they are known. */
export async function askPower(nodes: readonly ClusterNode[] = cluster.value.nodes): Promise<void> {
  const names = nodes.filter(({ attributes }) => attributes['mgt']).map(({ name }) => name);
  if (asking.value || names.length === 0) return;
  asking.set(true);
  try {
    for (const range of rangesOf(names)) await askRange(range);
  } finally {
    asking.set(false);
  }
}

async function askRange(range: string): Promise<void> {
  for await (const some of lines<PowerLine>(`/nodes/${inPath(range)}/power`, AbortSignal.timeout(longestAnswer))) {
    const found = new Map(some.flatMap((line) => (line.node === undefined ? [] : [[line.node, line]])));
    update([...found.keys()], (node) => {
      const { value, error } = found.get(node.name)!;
      if (error !== undefined) return { ...node, power: 'unknown', trouble: error };
      return { ...withoutTrouble(node), power: value?.power ?? 'unknown' };
    });
  }
}

/** Milliseconds. */
const longestAnswer = 300_000;
