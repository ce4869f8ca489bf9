import { Fault } from '../core/errors.ts';
import type { Cluster } from './cluster.ts';
import { type Criterion, parseCriterion } from './criterion.ts';
import { evaluate, seen } from './range.ts';
import { Effort, startRun } from './run.ts';

export type { Cluster } from './cluster.ts';
export { type Criterion, criterionTest } from './criterion.ts';
export { missedFault } from './missed.ts';

export interface Expansion {
  /** In byte order, each name once. */
  nodes: string[];
  /** Pieces that are neither node nor group, in the order they were met. */
  missed: string[];
}

interface ExpandOptions {
  /** True: unknown text is missed. False, as for definition commands: unknown text is a literal name. */
  verify?: boolean | undefined;
  /** The site attribute excludenodes: a range taken out of every result. */
  exclude?: string | undefined;
  /** Most names a range may stand for. */
  limit?: number | undefined;
  /** For those who refuse every unknown name, also literal ones: a range is left, and refused, after so many. */
  mostUnknown?: number | undefined;
}

const defaultLimit = 1_000_000;
const plainName = /^[^-^,@()'"][^,@()'"]*$/;

/** The nodes a range stands for. */
export function expand(text: string, cluster: Cluster, options: ExpandOptions = {}): Expansion {
  const { verify = true, exclude = '', limit = defaultLimit, mostUnknown } = options;
  if (exclude === '' && plainName.test(text) && cluster.hasNode(text)) return { nodes: [text], missed: [] };
  const effort = new Effort(limit, mostUnknown);
  const run = startRun(text, 'noderange', { cluster, verify, effort });
  let nodes = evaluate(run);
  let missed = run.missed;
  if (exclude !== '') {
    const excluded = startRun(exclude, 'site attribute excludenodes', {
      cluster: cluster.whole ?? cluster,
      verify,
      effort,
    });
    nodes = nodes.difference(seen(run, evaluate(excluded)));
    missed = missed.concat(excluded.missed);
  }
  return { nodes: nodes.list(), missed };
}

/** The names a range stands for when there is no cluster to ask: no nodes, no groups, no criteria. */
export function expandSyntactic(text: string): string[] {
  const effort = new Effort(defaultLimit);
  return evaluate(startRun(text, 'noderange', { cluster: undefined, verify: false, effort })).list();
}

/** The criteria of a range up to the first mistake, for who wants to read before what they are about. */
export function criteriaIn(text: string): readonly Criterion[] {
  const found: Criterion[] = [];
  if (!/[=~]/.test(text)) return found;
  const noNodes: Cluster = {
    hasNode: () => false,
    group: () => [],
    nodeNames: () => [],
    select(criterion) {
      found.push(criterion);
      return [];
    },
  };
  try {
    expand(text, noNodes);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
  return found;
}

/** A criterion that stands alone: nothing in its value ends it. */
export function readCriterion(text: string): Criterion {
  const effort = new Effort(defaultLimit);
  return parseCriterion({ ...startRun('', 'criterion', { cluster: undefined, verify: true, effort }), text }, text, 0);
}
