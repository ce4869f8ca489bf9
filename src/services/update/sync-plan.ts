import { Fault } from '../../core/errors.ts';
import { expandRange } from '../../objects/cluster.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { missedFault } from '../../noderange/index.ts';
import type { Sources } from '../remote/sources.ts';
import { imageOf, listFiles } from './node-image.ts';
import { readList } from './read-list.ts';
import { parseSynclist, type SyncRule, type Synclist, type SyncScript } from './synclist.ts';
import { expandWildcards, sourceOf, type WantedItem, type WantedTree, wantedTree } from './wanted-files.ts';

/** A rule with its sources as they are here. */
export interface PlannedRule extends SyncRule {
  readonly trees: readonly WantedTree[];
  /** Wildcards that nothing matches. */
  readonly idle: readonly string[];
}

/** A script that no line of its list brings to the nodes. */
export interface LooseScript extends SyncScript {
  readonly item: WantedItem;
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

interface PlannedList extends Omit<Synclist, 'copies' | 'appends' | 'merges'> {
  readonly looseScripts: readonly LooseScript[];
  readonly copies: readonly PlannedRule[];
  readonly appends: readonly PlannedRule[];
  readonly merges: readonly PlannedRule[];
}

/** Which files nodes shall have. Every list and every source is read once, however many nodes share it. */
export class SyncPlans {
  readonly #reader: EffectiveReader;
  readonly #sources: Sources;
  readonly #lists = new Map<string, Promise<PlannedList>>();
  readonly #ranges = new Map<string, ReadonlySet<string>>();

  constructor(snapshot: Snapshot, sources: Sources) {
    this.#reader = effectiveReader(snapshot);
    this.#sources = sources;
  }

  /** Undefined if no list says anything of the node. */
  async of(node: string): Promise<NodePlan | undefined> {
    const lists = await Promise.all(this.#pathsFor(node).map((path) => this.#list(path)));
    const forNode = (rules: readonly PlannedRule[]): PlannedRule[] => rules.filter((rule) => this.#means(rule, node));
    const copies = lists.flatMap((list) => forNode(list.copies));
    const appends = lists.flatMap((list) => forNode(list.appends));
    const merges = lists.flatMap((list) => forNode(list.merges));
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

  #pathsFor(node: string): readonly string[] {
    return listFiles(this.#reader, imageOf(this.#reader, node), 'synclists', 'synclist');
  }

  #list(path: string): Promise<PlannedList> {
    let list = this.#lists.get(path);
    if (!list) this.#lists.set(path, (list = this.#readList(path)));
    return list;
  }

  async #readList(path: string): Promise<PlannedList> {
    const list = parseSynclist(await readList(this.#sources, path), path);
    const planned = (rules: readonly SyncRule[]): Promise<PlannedRule[]> =>
      Promise.all(rules.map(async (rule) => ({ ...rule, ...(await this.#found(rule)) })));
    const [copies, appends, merges] = await Promise.all([
      planned(list.copies),
      planned(list.appends),
      planned(list.merges),
    ]);
    return { ...list, copies, appends, merges, looseScripts: await this.#loose(list, copies) };
  }

  async #loose({ scripts, scriptsAlways }: Synclist, copies: readonly PlannedRule[]): Promise<LooseScript[]> {
    const brought = new Set(
      copies.flatMap(({ trees }) => trees.flatMap((tree) => tree.items.map((item) => sourceOf(tree, item)))),
    );
    const loose: LooseScript[] = [];
    for (const { path, where } of [...scripts, ...scriptsAlways]) {
      if (brought.has(path)) continue;
      brought.add(path);
      const { trees } = await this.#found({ sources: [path], where });
      const item = trees[0]!.items[0]!;
      if (item.kind !== 'file') throw new Fault('invalid', `${where}: ${path} is not a file, so it cannot be run.`);
      loose.push({ path, where, item: { ...item, mode: item.mode | 0o500 } });
    }
    return loose;
  }

  async #found({ sources, where }: Pick<SyncRule, 'sources' | 'where'>): Promise<Pick<PlannedRule, 'trees' | 'idle'>> {
    const admit = (path: string): string => this.#admit(path);
    try {
      const paths = await Promise.all(sources.map((source) => expandWildcards(source, admit)));
      const trees = await Promise.all(paths.flat().map((path) => wantedTree({ path, real: admit(path) })));
      return { trees, idle: sources.filter((_, index) => paths[index]!.length === 0) };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw new Fault(error.kind, `${where}: ${error.message}`, { cause: error });
    }
  }

  #admit(path: string): string {
    return this.#sources.admit(path);
  }

  #means({ range, where }: SyncRule, node: string): boolean {
    if (range === undefined) return true;
    let nodes = this.#ranges.get(range);
    if (!nodes) {
      const { nodes: found, missed } = expandRange(this.#reader.snapshot, range);
      if (missed.length > 0) throw new Fault('invalid', `${where}: ${missedFault(missed, range).message}`);
      this.#ranges.set(range, (nodes = new Set(found)));
    }
    return nodes.has(node);
  }
}
