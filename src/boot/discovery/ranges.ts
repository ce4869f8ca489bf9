import { Fault } from '../../core/errors.ts';
import type { Draft } from '../../database/draft.ts';
import { Snapshot } from '../../database/snapshot.ts';
import { isEnabled, type Row } from '../../database/tables.ts';
import { expandRange, type RangeOptions } from '../../objects/cluster.ts';
import { effectiveReader, siteValue } from '../../objects/effective.ts';
import { identityOf, isFree } from './match.ts';

const table = 'discoveryrange';

/** Nodes that unknown machines become, one after the other in the order of their names. */
export interface OpenRange {
  readonly noderange: string;
  readonly by: 'order';
  readonly opened: string;
  readonly openedBy: string;
}

/** The range that was opened first comes first. */
export const openRanges = (snapshot: Snapshot): OpenRange[] =>
  snapshot
    .rows(table)
    .values()
    .filter(isEnabled)
    .map(({ noderange = '', opened = '', openedby = '' }: Row) => ({
      noderange,
      by: 'order' as const,
      opened,
      openedBy: openedby,
    }))
    .sort((a, b) => (a.opened < b.opened ? -1 : 1));

/** Whether machines that nobody knows are to say who they are: while a range is open, or always if the site attribute says so. */
export const discoveryIsOn = (snapshot: Snapshot): boolean =>
  /^(1|y|yes|on|enable)$/i.test(siteValue(snapshot, 'discovery') ?? '') || openRanges(snapshot).length > 0;

export function openRange(draft: Draft, noderange: string, user: string, now: Date): void {
  draft.merge(table, noderange, { noderange, method: 'order', opened: now.toISOString(), openedby: user });
}

/** All of them, or the one that is named. */
export function closeRanges(draft: Draft, noderange: string | undefined): void {
  const open = openRanges(draft.base).filter((range) => noderange === undefined || range.noderange === noderange);
  if (open.length === 0)
    throw new Fault(
      'invalid',
      noderange === undefined
        ? 'No range is open.'
        : `The range "${noderange}" is not open; GET /discovery lists those that are.`,
    );
  for (const range of open) draft.remove(table, range.noderange);
}

const inOrder = new Intl.Collator('en', { numeric: true });

/**
 * The nodes of a range that wait for any machine, n2 before n10. Nodes that were removed since it was opened are passed over; a range
 * that cannot be read any more has none.
 */
export function freeNodes(snapshot: Snapshot, noderange: string, options?: RangeOptions): string[] {
  const reader = effectiveReader(snapshot);
  const nodes = nodesOf(snapshot, noderange, options);
  return nodes.filter((node) => isFree(identityOf(reader, node))).sort(inOrder.compare);
}

function nodesOf(snapshot: Snapshot, noderange: string, options?: RangeOptions): readonly string[] {
  try {
    return expandRange(snapshot, noderange, options).nodes;
  } catch (error) {
    if (error instanceof Fault) return [];
    throw error;
  }
}

/** The node that the next unknown machine becomes. Many may ask before anything changes. */
export const nextInOrder = (snapshot: Snapshot): string | undefined => nextOf(snapshot).node;

const nextOf = Snapshot.cached((snapshot): { readonly node: string | undefined } => {
  for (const { noderange } of openRanges(snapshot)) {
    const [node] = freeNodes(snapshot, noderange);
    if (node !== undefined) return { node };
  }
  return { node: undefined };
});
