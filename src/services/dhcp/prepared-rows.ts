import { setImmediate } from 'node:timers/promises';
import type { Origin, RowChange } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { type Reservation, reservationTable, storeReservations } from './reservations.ts';

/** What nodes shall have from now on, and who wants it. */
export interface WantedReservations {
  readonly origin: Origin;
  readonly wanted: ReadonlyMap<string, readonly Reservation[]>;
}

/** The rows of a change, made before they are stored. */
export interface PreparedRows {
  readonly origin: Origin;
  /** The changes on this snapshot; made anew if somebody else has changed the rows meanwhile. */
  on(head: Snapshot): readonly RowChange[];
  /** Nobody has. */
  readonly undisturbed: boolean;
}

const nodesPerTurn = 250;

export async function prepareRows(
  snapshot: Snapshot,
  changes: readonly WantedReservations[],
): Promise<readonly PreparedRows[]> {
  const prepared: PreparedRows[] = [];
  for (const { origin, wanted } of changes) {
    const draft = new Draft(snapshot);
    let turn = 0;
    for (const [node, reservations] of wanted) {
      if (++turn % nodesPerTurn === 0) await setImmediate();
      storeNode(draft, node, reservations);
    }
    const made = draft.changes();
    let undisturbed = true;
    prepared.push({
      origin,
      on(head) {
        const same = (table: string): boolean => head.rows(table) === snapshot.rows(table);
        undisturbed = same(reservationTable) && same('nodelist');
        if (undisturbed) return made;
        const again = new Draft(head);
        for (const [node, reservations] of wanted) storeNode(again, node, reservations);
        return again.changes();
      },
      get undisturbed() {
        return undisturbed;
      },
    });
  }
  return prepared;
}

/** A node that was removed meanwhile gets none. */
function storeNode(draft: Draft, node: string, reservations: readonly Reservation[]): void {
  if (reservations.length === 0 || draft.base.get('nodelist', node)) storeReservations(draft, node, reservations);
}
