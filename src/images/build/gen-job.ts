import type { PackageStep } from '../../nodes/index.ts';
import type { Family } from '../../objects/distributions.ts';
import type { Work } from '../../work/index.ts';
import type { ImageJob } from '../image-job.ts';
import type { Used } from '../manifest.ts';
import type { PackageSource } from './package-sources.ts';

/** Packages and where they come from. */
export interface Wanted {
  readonly sources: readonly PackageSource[];
  readonly steps: readonly PackageStep[];
}

/** What a tree is built from: whenever any of it changes, the tree has to. */
export interface Recipe {
  readonly family: Family;
  readonly osvers: string;
  readonly osarch: string;
  readonly suite?: string;
  readonly packages: Wanted;
  readonly others: Wanted;
  /** Scripts of the site that finish the tree. */
  readonly postinstall: readonly Used[];
  /** Which kernel of the tree is booted; empty: the newest. */
  readonly kernelver: string;
  readonly netdrivers: readonly string[];
  /** Files and directories with drivers that are in no package. */
  readonly drivers: readonly string[];
  readonly method: string;
}

export interface GenJob extends ImageJob {
  readonly recipe: Recipe;
  /** Lists the recipe was read from. */
  readonly lists: readonly Used[];
  /** The mode of the tree's top directory. */
  readonly permission: number;
  /** Whether all is built again, whatever is there. */
  readonly anew: boolean;
}

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
