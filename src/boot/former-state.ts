import { Fault } from '../core/errors.ts';
import type { Origin } from '../database/changeset.ts';
import { Draft } from '../database/draft.ts';
import type { Snapshot } from '../database/snapshot.ts';
import type { Store } from '../database/store.ts';
import type { Row } from '../database/tables.ts';
import { type NodeDhcp, reservationsOf } from '../names/index.ts';
import { effectiveReader } from '../objects/effective.ts';
import { shownBootState, stateTables } from './states.ts';

/** The rows that a boot state consists of, by tables. */
export type StateRows = ReadonlyMap<string, Row | undefined>;

export const rowsOfState = (snapshot: Snapshot, node: string): StateRows =>
  new Map(stateTables.map((table) => [table, snapshot.get(table, node)]));

/** A state that was set for a boot. */
interface SetState {
  readonly node: string;
  readonly before: StateRows;
  /** With the state, and without the reservation that followed it. */
  readonly set: Snapshot;
  /** The state as it was when the boot was to begin, if muster itself has added to it: a medium has a token of the node. */
  readonly begun?: StateRows | undefined;
}

interface Places {
  readonly store: Store;
  readonly nodeDhcp: Pick<NodeDhcp, 'release'>;
}

/**
 * Undoes what was set for a boot that did not begin, with the reservation that came with it. Returns sentences that say how the node is
 * left. What could not be undone is among them and no error: there is a failure already, which must not be lost.
 */
export async function undoState(places: Places, done: SetState, origin: Origin): Promise<readonly string[]> {
  const { node, before, set, begun } = done;
  const after = begun ?? rowsOfState(set, node);
  try {
    const { isBack, state } = await putBack(places.store, node, { before, after }, origin);
    if (!isBack) return [`It is set to ${state}.`];
    return [`It is set to ${state}, as before.`, ...(await releaseNew(places, done, origin))];
  } catch (error) {
    const failed = 'Its boot state could not be put back to what it was before:';
    return [failed, ...sentencesOf(error), `GET /nodes/${node}/bootstate shows what it is set to.`];
  }
}

/** Removes a reservation that the node did not have before; returns why that failed. */
async function releaseNew(
  { store, nodeDhcp }: Places,
  { node, set }: SetState,
  origin: Origin,
): Promise<readonly string[]> {
  const isReserved = (snapshot: Snapshot): boolean => reservationsOf(snapshot).ofNode(node).length > 0;
  if (isReserved(set) || !isReserved(store.current)) return [];
  try {
    await nodeDhcp.release([node], origin);
    return [];
  } catch (error) {
    const remedy = `DELETE /nodes/${node}/dhcp removes the reservation.`;
    return ['Its new DHCP reservation could not be removed:', ...sentencesOf(error), remedy];
  }
}

function sentencesOf(error: unknown): readonly string[] {
  if (error instanceof Fault) return error.sentences;
  throw error;
}

/**
 * Puts a node back to the state that it had, if nothing has changed since: neither has somebody set another one, nor has the node begun
 * to boot. Returns whether that was so, and what it is set to now.
 */
async function putBack(
  store: Store,
  node: string,
  { before, after }: { readonly before: StateRows; readonly after: StateRows },
  origin: Origin,
): Promise<{ readonly isBack: boolean; readonly state: string }> {
  let isBack = false;
  await store.change(origin, (head) => {
    const now = rowsOfState(head, node);
    isBack = sameRows(now, after);
    const draft = new Draft(head);
    for (const [table, row] of isBack ? before : []) {
      if (row) draft.putStored(table, row);
      else draft.remove(table, node);
    }
    return draft.changes();
  });
  return { isBack, state: shownBootState(effectiveReader(store.current), node) };
}

const sameRows = (a: StateRows, b: StateRows): boolean =>
  stateTables.every((table) => sameRow(a.get(table), b.get(table)));

/** Whether nobody has touched the state of a node between the two. */
export const isAsSet = (node: string, set: Snapshot, now: Snapshot): boolean =>
  sameRows(rowsOfState(set, node), rowsOfState(now, node));

function sameRow(a: Row = {}, b: Row = {}): boolean {
  const columns = new Set([...Object.keys(a), ...Object.keys(b)]);
  return columns.values().every((column) => a[column] === b[column]);
}
