import { readFile } from 'node:fs/promises';
import { Fault } from '../../core/errors.ts';
import { expandRange } from '../../objects/cluster.ts';
import { type EffectiveReader, effectiveReader } from '../../objects/effective.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { missedFault } from '../../noderange/index.ts';
import type { Sources } from '../remote/sources.ts';
import { imageOf, listFiles } from './node-image.ts';
import { parseSynclist, type SyncRule, type Synclist, type SyncScript } from './synclist.ts';
import { reading } from './telling.ts';
import { expandWildcards, sourceOf, type WantedTree, wantedTree } from './wanted-files.ts';

/** A rule with its sources as they are here. */
export interface PlannedRule extends SyncRule {
  readonly trees: readonly WantedTree[];
  /** Wildcards that nothing matches. */
  readonly idle: readonly string[];
}

/** All that one node shall have. */
export interface NodePlan {
  readonly copies: readonly PlannedRule[];
  readonly appends: readonly PlannedRule[];
  readonly merges: readonly PlannedRule[];
  readonly scripts: readonly SyncScript[];
  readonly scriptsAlways: readonly SyncScript[];
  /** What of the lists has no effect. */
  readonly notes: readonly string[];
}

interface PlannedList extends Omit<Synclist, 'copies' | 'appends' | 'merges'> {
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
    if (copies.length + appends.length + merges.length === 0) return undefined;
    return {
      copies,
      appends,
      merges,
      scripts: lists.flatMap(({ scripts }) => scripts),
      scriptsAlways: lists.flatMap(({ scriptsAlways }) => scriptsAlways),
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
    const list = parseSynclist(await reading(path, readFile(this.#admit(path), 'utf8')), path);
    const planned = (rules: readonly SyncRule[]): Promise<PlannedRule[]> =>
      Promise.all(rules.map(async (rule) => ({ ...rule, ...(await this.#found(rule)) })));
    const [copies, appends, merges] = await Promise.all([
      planned(list.copies),
      planned(list.appends),
      planned(list.merges),
    ]);
    checkScripts(list, copies);
    return { ...list, copies, appends, merges };
  }

  async #found({ sources, where }: SyncRule): Promise<Pick<PlannedRule, 'trees' | 'idle'>> {
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

/** A script is run on the node, so it must be one of the files that get there. */
function checkScripts({ scripts, scriptsAlways }: Synclist, copies: readonly PlannedRule[]): void {
  const sources = new Set(
    copies.flatMap(({ trees }) => trees.flatMap((tree) => tree.items.map((item) => sourceOf(tree, item)))),
  );
  for (const { path, where } of [...scripts, ...scriptsAlways]) {
    if (!sources.has(path)) {
      throw new Fault(
        'invalid',
        `${where}: ${path} is not a source of this list, so it does not get to the nodes; add it above.`,
      );
    }
  }
}
