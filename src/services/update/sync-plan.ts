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
}

/** All that one node shall have. */
export interface NodePlan {
  readonly copies: readonly PlannedRule[];
  readonly appends: readonly PlannedRule[];
  readonly merges: readonly PlannedRule[];
  readonly scripts: readonly SyncScript[];
  readonly scriptsAlways: readonly SyncScript[];
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

  /** Whether there is a list for the node. */
  has(node: string): boolean {
    return this.#pathsFor(node).length > 0;
  }

  /** Undefined if there is no list for the node. */
  async of(node: string): Promise<NodePlan | undefined> {
    const paths = this.#pathsFor(node);
    if (paths.length === 0) return undefined;
    const lists = await Promise.all(paths.map((path) => this.#list(path)));
    const forNode = (rules: readonly PlannedRule[]): PlannedRule[] => rules.filter((rule) => this.#means(rule, node));
    return {
      copies: lists.flatMap(({ copies }) => forNode(copies)),
      appends: lists.flatMap(({ appends }) => forNode(appends)),
      merges: lists.flatMap(({ merges }) => forNode(merges)),
      scripts: lists.flatMap(({ scripts }) => scripts),
      scriptsAlways: lists.flatMap(({ scriptsAlways }) => scriptsAlways),
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
      Promise.all(rules.map(async (rule) => ({ ...rule, trees: await this.#trees(rule) })));
    const [copies, appends, merges] = await Promise.all([
      planned(list.copies),
      planned(list.appends),
      planned(list.merges),
    ]);
    checkScripts(list, copies);
    return { ...list, copies, appends, merges };
  }

  async #trees({ sources, where }: SyncRule): Promise<WantedTree[]> {
    const admit = (path: string): string => this.#admit(path);
    try {
      const paths = (await Promise.all(sources.map((source) => expandWildcards(source, admit)))).flat();
      return await Promise.all(paths.map((path) => wantedTree({ path, real: admit(path) })));
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
