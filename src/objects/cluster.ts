import { readFileSync, realpathSync, statSync } from 'node:fs';
import { sep } from 'node:path';
import { Fault } from '../core/errors.ts';
import { PatternAllowance } from '../core/patterns.ts';
import { atOnce, type Interruptible } from '../core/slices.ts';
import { Snapshot } from '../database/snapshot.ts';
import { type Table, tables } from '../database/tables.ts';
import {
  type Cluster,
  criteriaIn,
  type Criterion,
  criterionTest,
  expand,
  type Expansion,
  missedFault,
  readCriterion,
} from '../noderange/index.ts';
import { effectiveReader, siteValue } from './effective.ts';
import { allMembers, allNodes, groupExists, groupMembers, readValuesOfAll, visibleNodes } from './groups.ts';

export interface RangeOptions {
  readonly verify?: boolean | undefined;
  readonly rangeFiles?: string | undefined;
  readonly limit?: number | undefined;
  /** For those who refuse unknown names: a range is refused after so many. */
  readonly mostUnknown?: number | undefined;
  /** Whether the caller may know of the node; all others are as good as unknown. Undefined: the caller may know of all. */
  readonly sees?: ((node: string) => boolean) | undefined;
  /** Hidden nodes count like all others, as they do to rules. */
  readonly hidden?: boolean | undefined;
}

/** A snapshot as node ranges see it. */
function clusterOf(snapshot: Snapshot, { rangeFiles, sees, hidden }: RangeOptions = {}): Cluster {
  let cluster = clusterIn(snapshot);
  if (rangeFiles !== undefined) cluster = { ...cluster, file: (path) => readRangeFile(rangeFiles, path) };
  if (hidden) cluster = withHidden(snapshot, cluster);
  return sees ? seenBy(snapshot, cluster, sees) : cluster;
}

const clusterIn = Snapshot.cached(
  (snapshot): Cluster => ({
    hasNode: (name) => effectiveReader(snapshot).nodeRow(name) !== undefined,
    group: (name) => groupMembers(snapshot, name),
    nodeNames: () => visibleNodes(snapshot),
    select: (criterion, patterns) => selectVisible(snapshot, criterion, patterns),
  }),
);

const withHidden = (snapshot: Snapshot, cluster: Cluster): Cluster => ({
  ...cluster,
  group: (name) => (groupExists(snapshot, name) ? allMembers(snapshot, name) : undefined),
  nodeNames: () => allNodes(snapshot),
  select: (criterion, patterns) => selectOfAll(snapshot, criterion, patterns),
});

function seenBy(snapshot: Snapshot, cluster: Cluster, sees: (node: string) => boolean): Cluster {
  return {
    ...cluster,
    sees,
    whole: cluster,
    hasNode: (name) => sees(name) && cluster.hasNode(name),
    // Who has no node in a group does not know of it, whether it is empty or full of others.
    group: (name) => (allMembers(snapshot, name).some(sees) ? cluster.group(name) : undefined),
    nodeNames: () => [...cluster.nodeNames()].filter(sees),
    select: (criterion, patterns) => [...cluster.select(criterion, patterns)].filter(sees),
  };
}

/** More of them are not looked at where none is allowed: looking up names that nobody knows is the dearest part of a range. */
export const mostUnknownNames = 10_000;

export function expandRange(snapshot: Snapshot, text: string, options: RangeOptions = {}): Expansion {
  const { verify = true, limit, mostUnknown } = options;
  const exclude = siteValue(snapshot, 'excludenodes');
  return expand(text, clusterOf(snapshot, options), { verify, exclude, limit, mostUnknown });
}

/** Nodes of rules by their ranges. */
const ruleCache = Snapshot.cached(() => new Map<string, ReadonlySet<string>>());

/** The nodes a policy rule's range means: hidden ones and those that `excludenodes` keeps out of other ranges are among them. */
export function rangeOfRule(snapshot: Snapshot, text: string): ReadonlySet<string> {
  const cache = ruleCache(snapshot);
  let nodes = cache.get(text);
  if (!nodes) {
    const cluster = clusterOf(snapshot, { hidden: true });
    cache.set(text, (nodes = new Set(expand(text, cluster).nodes)));
  }
  return nodes;
}

/** The names that a range stands for in a definition: those that are no nodes count, and so do nodes that other ranges leave out. */
export const namesInRange = (snapshot: Snapshot, text: string, limit: number): readonly string[] =>
  expand(text, clusterOf(snapshot, { hidden: true }), { verify: false, limit }).nodes;

/** The nodes of a range in which every name must be known. */
export function knownNodes(snapshot: Snapshot, text: string, options: RangeOptions = {}): string[] {
  const { nodes, missed } = expandRange(snapshot, text, { mostUnknown: mostUnknownNames, ...options });
  if (missed.length > 0) throw missedFault(missed, text, false, nodes);
  return nodes;
}

/** Those of the nodes that all criteria select. */
export function nodesThatMeet(snapshot: Snapshot, nodes: readonly string[], criteria: readonly string[]): string[] {
  const patterns = new PatternAllowance();
  const tests = criteria.map((text) => {
    const criterion = readCriterion(text);
    const valueOf = criterionValue(snapshot, criterion);
    const holds = criterionTest(criterion, patterns);
    return (node: string) => holds(valueOf(node) ?? '');
  });
  return nodes.filter((node) => tests.every((holds) => holds(node)));
}

function selectVisible(snapshot: Snapshot, criterion: Criterion, patterns: PatternAllowance): Iterable<string> {
  const selected = selectOfAll(snapshot, criterion, patterns);
  if (visibleNodes(snapshot) === allNodes(snapshot)) return selected;
  const visible = new Set(visibleNodes(snapshot));
  return selected.filter((node) => visible.has(node));
}

function selectOfAll(snapshot: Snapshot, criterion: Criterion, patterns: PatternAllowance): string[] {
  const values = atOnce(readColumn(snapshot, criterion));
  const holds = criterionTest(criterion, patterns);
  return allNodes(snapshot).filter((_, at) => holds(values[at]!));
}

/**
 * Reads what the criteria of a range are about, with pauses, so that it is there when the range is looked at: of a million nodes that takes
 * a while. What is wrong with a criterion is found then too.
 */
export function* readCriteria(snapshot: Snapshot, range: string): Interruptible<void> {
  try {
    for (const criterion of criteriaIn(range)) yield* readColumn(snapshot, criterion);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
  }
}

const readColumn = (snapshot: Snapshot, criterion: Criterion): Interruptible<readonly string[]> =>
  readValuesOfAll(snapshot, `${criterion.table}.${criterion.column}`, criterionValue(snapshot, criterion));

function criterionValue(snapshot: Snapshot, criterion: Criterion): (node: string) => string | undefined {
  const table = criterionTable(criterion);
  const reader = effectiveReader(snapshot);
  const { column } = criterion;
  return column === table.nodeColumn ? (node) => node : (node) => reader.value(table, column, node);
}

function criterionTable({ table: name, column, text, at }: Criterion): Table {
  const where = `In the node range at column ${at}, "${text}"`;
  const table = tables.get(name);
  if (!table || table.nodeColumn === undefined)
    throw new Fault('invalid', `${where}: "${name}" is not a table of nodes.`);
  if (!table.columns.includes(column))
    throw new Fault('invalid', `${where}: table "${name}" has no column "${column}".`);
  if (table.secret.has(column))
    throw new Fault(
      'invalid',
      `In the node range at column ${at}: ${name}.${column} is secret and cannot select nodes.`,
    );
  return table;
}

const maximumRangeFile = 4 * 1024 * 1024;

/** Only real paths below the configured directory are read, so that no link leads out of it. */
function readRangeFile(directory: string, path: string): string[] | undefined {
  try {
    const real = realpathSync(path);
    if (!real.startsWith(realpathSync(directory) + sep)) return undefined;
    const stat = statSync(real);
    // A pipe or a device might never end.
    if (!stat.isFile() || stat.size > maximumRangeFile) return undefined;
    return readFileSync(real, 'utf8').replace(/\n$/, '').split('\n');
  } catch {
    return undefined;
  }
}
