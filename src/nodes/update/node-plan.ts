import { Fault, unlessFault } from '../../core/errors.ts';
import { type CargoItem, type CargoRoot, join } from '../remote/cargo.ts';
import type { LocalFiles } from '../remote/local-files.ts';
import { naming } from './findings.ts';
import type { FoundList, FoundRule, RuleKind, SyncScript } from './synclist.ts';

/** One source of a rule with all that is in it. The names of its items begin with the name of the source. */
export interface WantedTree {
  /** As the list names it, wildcards replaced. */
  readonly path: string;
  readonly items: readonly CargoItem[];
}

/** Looks at a file or directory here with all that is in it. */
export async function wantedTree(files: LocalFiles, root: CargoRoot): Promise<WantedTree> {
  const { items } = await files.cargo([root]);
  return { path: root.path, items };
}

/** The path of an item on the node when its source is called `destination` there. */
export function pathOnNode(item: CargoItem, destination: Buffer): Buffer {
  const mark = item.name.indexOf('/');
  return mark < 0 ? destination : join(destination, item.name.subarray(mark + 1));
}

/** What an item is called in the list. */
export const sourceOf = (tree: WantedTree, item: CargoItem): string =>
  pathOnNode(item, Buffer.from(tree.path)).toString();

export interface PlannedRule extends FoundRule {
  readonly trees: readonly WantedTree[];
}

export interface NodePlan extends Record<RuleKind, readonly PlannedRule[]> {
  readonly scripts: readonly SyncScript[];
  readonly scriptsAlways: readonly SyncScript[];
  /** Those that no line of their list brings to the nodes. */
  readonly looseScripts: readonly (SyncScript & { readonly item: CargoItem })[];
  /** What of the lists has no effect. */
  readonly notes: readonly string[];
}

type LoadedList = Omit<NodePlan, 'notes'>;

/** What the lists say of a node; undefined if that is nothing. */
export async function nodePlan(
  local: LocalFiles,
  found: readonly FoundList[],
  node: string,
): Promise<NodePlan | undefined> {
  const lists = await Promise.all(found.map((list) => loaded(local, list)));
  const rules = (kind: RuleKind): PlannedRule[] =>
    lists.flatMap((list) => list[kind].filter(({ nodes }) => nodes === undefined || setOf(nodes).has(node)));
  const [copies, appends, merges] = [rules('copies'), rules('appends'), rules('merges')];
  const scripts = lists.flatMap((list) => list.scripts);
  const scriptsAlways = lists.flatMap((list) => list.scriptsAlways);
  const looseScripts = lists.flatMap((list) => list.looseScripts);
  const runsAlways = looseScripts.some(({ path }) => scriptsAlways.some((script) => script.path === path));
  if (copies.length + appends.length + merges.length === 0 && !runsAlways) return undefined;
  const notes = copies.flatMap(({ where, idle }) => idle.map((source) => `${where}: no file matches ${source}.`));
  return { copies, appends, merges, scripts, scriptsAlways, looseScripts, notes };
}

/** The nodes at work share the lists, and what is known of their files. */
const loadedLists = new WeakMap<FoundList, Promise<LoadedList>>();
const nodeSets = new WeakMap<readonly string[], ReadonlySet<string>>();

function setOf(nodes: readonly string[]): ReadonlySet<string> {
  let set = nodeSets.get(nodes);
  if (!set) nodeSets.set(nodes, (set = new Set(nodes)));
  return set;
}

function loaded(local: LocalFiles, list: FoundList): Promise<LoadedList> {
  let made = loadedLists.get(list);
  if (!made) loadedLists.set(list, (made = load(local, list)));
  return made;
}

async function load(local: LocalFiles, list: FoundList): Promise<LoadedList> {
  const withTrees = (rule: FoundRule): Promise<PlannedRule> =>
    naming(rule.where, async () => ({
      ...rule,
      trees: await Promise.all(rule.roots.map((root) => wantedTree(local, root))),
    }));
  const [copies, appends, merges] = await Promise.all(
    [list.copies, list.appends, list.merges].map((rules) => Promise.all(rules.map(withTrees))),
  );
  const looseScripts = await looseIn(local, list, copies!);
  return { ...list, copies: copies!, appends: appends!, merges: merges!, looseScripts };
}

async function looseIn(
  local: LocalFiles,
  { scripts, scriptsAlways }: FoundList,
  copies: readonly PlannedRule[],
): Promise<LoadedList['looseScripts']> {
  const brought = new Set(
    copies.flatMap(({ trees }) => trees.flatMap((tree) => tree.items.map((item) => sourceOf(tree, item)))),
  );
  const loose: (SyncScript & { readonly item: CargoItem })[] = [];
  for (const { path, where, root } of [...scripts, ...scriptsAlways]) {
    if (brought.has(path)) continue;
    brought.add(path);
    const { items } = await naming(where, () => wantedTree(local, unlessFault(root)));
    const item = items[0]!;
    if (item.kind !== 'file') throw new Fault('invalid', `${where}: ${path} is not a file, so it cannot be run.`);
    loose.push({ path, where, item: { ...item, mode: item.mode | 0o500 } });
  }
  return loose;
}
