import type { Interruptible } from '../core/slices.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { tableNamed } from '../database/tables.ts';
import { type EffectiveReader, effectiveReader, siteValue } from '../objects/effective.ts';

const table = tableNamed('nodehm');
const yes = ['1', 'yes', 'y', 'true', 'on', 'enable', 'enabled'];
const isYes = (value: string | undefined): boolean => yes.includes(value?.toLowerCase() ?? '');

/** The tables that decide it. */
export const tablesOfKept = ['nodehm', 'site', 'nodelist', 'nodegroup'] as const;

/**
 * The nodes whose consoles muster keeps open, so that their logs have no gaps: marked by `consoleenabled`, and not `consoleondemand`, of
 * the node or else of the site.
 */
export function* keptNodes(snapshot: Snapshot): Interruptible<ReadonlySet<string>> {
  const kept = new Set<string>();
  if (![...snapshot.rows('nodehm').values()].some((row) => row['consoleenabled'])) return kept;
  const reader = effectiveReader(snapshot);
  for (const node of snapshot.rows('nodelist').keys()) {
    if (reader.nodeRow(node) && isKept(reader, node)) kept.add(node);
    yield;
  }
  return kept;
}

function isKept(reader: EffectiveReader, node: string): boolean {
  if (!isYes(reader.value(table, 'consoleenabled', node))) return false;
  const onDemand = reader.value(table, 'consoleondemand', node) ?? siteValue(reader.snapshot, 'consoleondemand');
  return !isYes(onDemand);
}

/** Whether the node is marked, also if its console is only opened on demand. */
export const isMarked = (snapshot: Snapshot, node: string): boolean =>
  isYes(effectiveReader(snapshot).value(table, 'consoleenabled', node));
