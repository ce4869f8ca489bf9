import { Fault, unlessFault } from '../../core/errors.ts';
import type { CargoItem } from '../remote/cargo.ts';
import type { LocalFiles } from '../remote/local-files.ts';
import type { FoundList, FoundRule, FoundScript } from './sync-lists.ts';
import type { SyncRule, SyncScript } from './synclist.ts';
import { telling } from './telling.ts';
import { sourceOf, type WantedTree, wantedTree } from './wanted-files.ts';

/** A rule with its sources as they are here. */
export interface PlannedRule extends Omit<SyncRule, 'range'> {
  readonly trees: readonly WantedTree[];
}

/** A script that no line of its list brings to the nodes. */
export interface LooseScript extends SyncScript {
  readonly item: CargoItem;
}

/** All that one node shall have. */
export interface NodePlan {
  readonly copies: readonly PlannedRule[];
  readonly appends: readonly PlannedRule[];
  readonly merges: readonly PlannedRule[];
  readonly scripts: readonly SyncScript[];
  readonly scriptsAlways: readonly SyncScript[];
  readonly looseScripts: readonly LooseScript[];
  /** What of the lists has no effect. */
  readonly notes: readonly string[];
}

type LoadedRule = FoundRule & PlannedRule;

interface LoadedList extends Record<'copies' | 'appends' | 'merges', readonly LoadedRule[]> {
  readonly scripts: readonly SyncScript[];
  readonly scriptsAlways: readonly SyncScript[];
  readonly looseScripts: readonly LooseScript[];
}

/** What the lists say of a node; undefined if that is nothing. */
export async function nodePlan(
  local: LocalFiles,
  found: readonly FoundList[],
  node: string,
): Promise<NodePlan | undefined> {
  const lists = await Promise.all(found.map((list) => loaded(local, list)));
  const forNode = (kind: 'copies' | 'appends' | 'merges'): LoadedRule[] =>
    lists.flatMap((list) => list[kind].filter(({ nodes }) => nodes === undefined || setOf(nodes).has(node)));
  const [copies, appends, merges] = [forNode('copies'), forNode('appends'), forNode('merges')];
  const scriptsAlways = lists.flatMap((list) => list.scriptsAlways);
  const looseScripts = lists.flatMap((list) => list.looseScripts);
  const runsAlways = looseScripts.some(({ path }) => scriptsAlways.some((script) => script.path === path));
  if (copies.length + appends.length + merges.length === 0 && !runsAlways) return undefined;
  return {
    copies,
    appends,
    merges,
    scripts: lists.flatMap(({ scripts }) => scripts),
    scriptsAlways,
    looseScripts,
    notes: copies.flatMap(({ where, idle }) => idle.map((source) => `${where}: no file matches ${source}.`)),
  };
}

/** The nodes at work share the lists, and what is known of their files. */
const lists = new WeakMap<FoundList, Promise<LoadedList>>();
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(nodes: readonly string[]): ReadonlySet<string> {
  let set = sets.get(nodes);
  if (!set) sets.set(nodes, (set = new Set(nodes)));
  return set;
}

function loaded(local: LocalFiles, list: FoundList): Promise<LoadedList> {
  let made = lists.get(list);
  if (!made) lists.set(list, (made = load(local, list)));
  return made;
}

async function load(local: LocalFiles, list: FoundList): Promise<LoadedList> {
  const rules = (all: readonly FoundRule[]): Promise<LoadedRule[]> =>
    Promise.all(
      all.map(async (rule) => ({
        ...rule,
        trees: await telling(rule.where, () => Promise.all(rule.roots.map((root) => wantedTree(local, root)))),
      })),
    );
  const [copies, appends, merges] = await Promise.all([rules(list.copies), rules(list.appends), rules(list.merges)]);
  return { ...list, copies, appends, merges, looseScripts: await looseIn(local, list, copies) };
}

async function looseIn(
  local: LocalFiles,
  { scripts, scriptsAlways }: FoundList,
  copies: readonly PlannedRule[],
): Promise<LooseScript[]> {
  const brought = new Set(
    copies.flatMap(({ trees }) => trees.flatMap((tree) => tree.items.map((item) => sourceOf(tree, item)))),
  );
  const loose: LooseScript[] = [];
  for (const script of [...scripts, ...scriptsAlways]) {
    if (brought.has(script.path)) continue;
    brought.add(script.path);
    loose.push(await looseScript(local, script));
  }
  return loose;
}

async function looseScript(local: LocalFiles, { path, where, root }: FoundScript): Promise<LooseScript> {
  const { items } = await telling(where, () => wantedTree(local, unlessFault(root)));
  const item = items[0]!;
  if (item.kind !== 'file') throw new Fault('invalid', `${where}: ${path} is not a file, so it cannot be run.`);
  return { path, where, item: { ...item, mode: item.mode | 0o500 } };
}
