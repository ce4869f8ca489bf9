import type { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';

const table = 'vmmove';

/** Milliseconds for which a move that muster began explains that the machine is there: its end may have been missed. */
const believedFor = 24 * 3_600_000;

/** Notes where muster moves the machine of a node, so that it is known after a restart in the middle of it. */
export function noteMove(draft: Draft, node: string, target: string): void {
  draft.merge(table, node, { node, target, begun: new Date().toISOString() });
}

export function endMove(draft: Draft, node: string): void {
  if (draft.base.get(table, node)) draft.merge(table, node, { node, target: undefined, begun: undefined });
}

/** The hypervisor that muster was moving the node's machine to when it was last heard of; undefined: there is no such move. */
export function moveUnderWay(snapshot: Snapshot, node: string): string | undefined {
  const { target, begun = '' } = snapshot.get(table, node) ?? {};
  return Date.parse(begun) + believedFor > Date.now() ? target : undefined;
}

/** The hypervisors that these machines are being moved to. */
export const targetsOfMoves = (snapshot: Snapshot, isMachine: (node: string) => boolean): readonly string[] =>
  [...snapshot.rows(table).entries()].flatMap(([node]) => (isMachine(node) && moveUnderWay(snapshot, node)) || []);
