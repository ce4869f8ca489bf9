import type { Work } from '../../long-work/work.ts';
import type { Recipe } from './gen-job.ts';

/** What makes a tree that exists one of another recipe. */
export interface TreeChanges {
  readonly add: readonly string[];
  readonly drop: readonly string[];
  /** Whether packages are brought up to date with the repositories. */
  readonly upgrade: boolean;
}

/** How trees of one family of distributions are made. `scratch` is an empty directory for what is needed meanwhile. */
export interface TreeBuilder {
  /** What updates its trees. */
  readonly tool: string;
  create(task: Work, recipe: Recipe, tree: string, scratch: string): Promise<void>;
  update(task: Work, recipe: Recipe, tree: string, scratch: string, changes: TreeChanges): Promise<void>;
}
