import { Fault, type FaultData, orFault } from '../../core/errors.ts';
import { missedFault } from '../../noderange/index.ts';
import { expandRange } from '../../objects/cluster.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import type { CargoRoot } from '../remote/cargo.ts';
import type { Sources } from '../remote/sources.ts';
import { Findings, readList } from './findings.ts';
import { imageOf, listFiles, type NodeImage } from './node-image.ts';
import { parseSynclist, type SyncRule, type SyncScript } from './synclist.ts';
import { telling } from './telling.ts';
import { expandWildcards } from './wanted-files.ts';

/** A rule whose sources may be sent. */
export interface FoundRule extends Omit<SyncRule, 'range'> {
  /** Those of the nodes at work that it is for; undefined: all. */
  readonly nodes: readonly string[] | undefined;
  /** The sources, wildcards replaced. */
  readonly roots: readonly CargoRoot[];
  /** Wildcards that nothing matches. */
  readonly idle: readonly string[];
}

export interface FoundScript extends SyncScript {
  /** Where it is here, which counts only if no rule of the list brings it to the nodes. */
  readonly root: CargoRoot | FaultData;
}

export type RuleKind = 'copies' | 'appends' | 'merges';

/** A list of files that nodes shall have, as plain data. */
export interface FoundList extends Record<RuleKind, readonly FoundRule[]> {
  readonly scripts: readonly FoundScript[];
  readonly scriptsAlways: readonly FoundScript[];
}

/** The lists of nodes. Each is read once, however many nodes share it. */
export class SyncLists {
  /** By path. */
  readonly found = new Findings<FoundList>();
  readonly #reader: EffectiveReader;
  readonly #sources: Sources;
  readonly #nodes: ReadonlySet<string>;
  readonly #ranges = new Map<string, readonly string[]>();

  constructor(reader: EffectiveReader, sources: Sources, nodes: readonly string[]) {
    this.#reader = reader;
    this.#sources = sources;
    this.#nodes = new Set(nodes);
  }

  /** The paths of a node's lists, or the one given instead; when it resolves they are found. */
  async pathsFor(node: string, instead?: string): Promise<readonly string[]> {
    return instead === undefined ? this.pathsOf(imageOf(this.#reader, node)) : this.#findAll([instead]);
  }

  /** The paths of an image's lists, likewise. */
  async pathsOf(image: NodeImage): Promise<readonly string[]> {
    return this.#findAll(listFiles(this.#reader, image, 'synclists', 'synclist'));
  }

  async #findAll(paths: readonly string[]): Promise<readonly string[]> {
    await Promise.all(paths.map((path) => this.found.find(path, () => this.#find(path))));
    return paths;
  }

  async #find(path: string): Promise<FoundList> {
    const list = parseSynclist(await readList(this.#sources, path), path);
    const rules = (all: readonly SyncRule[]) => Promise.all(all.map((rule) => this.#rule(rule)));
    const scripts = (all: readonly SyncScript[]) => Promise.all(all.map((script) => this.#script(script)));
    return {
      copies: await rules(list.copies),
      appends: await rules(list.appends),
      merges: await rules(list.merges),
      scripts: await scripts(list.scripts),
      scriptsAlways: await scripts(list.scriptsAlways),
    };
  }

  #rule({ range, ...rule }: SyncRule): Promise<FoundRule> {
    const root = (path: string): CargoRoot => ({ path, real: this.#sources.admit(path) });
    return telling(rule.where, async () => {
      const found = await Promise.all(rule.sources.map((source) => expandWildcards(source, root)));
      const idle = rule.sources.filter((_, index) => found[index]!.length === 0);
      return { ...rule, nodes: this.#nodesIn(range), roots: found.flat().map(root), idle };
    });
  }

  async #script(script: SyncScript): Promise<FoundScript> {
    const { path } = script;
    return { ...script, root: await orFault((async () => ({ path, real: this.#sources.admit(path) }))()) };
  }

  #nodesIn(range: string | undefined): readonly string[] | undefined {
    if (range === undefined) return undefined;
    let nodes = this.#ranges.get(range);
    if (!nodes) {
      const { nodes: found, missed } = expandRange(this.#reader.snapshot, range);
      if (missed.length > 0) throw new Fault('invalid', missedFault(missed, range).message);
      nodes = found.filter((node) => this.#nodes.has(node));
      this.#ranges.set(range, nodes);
    }
    return nodes;
  }
}
