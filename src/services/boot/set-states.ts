import { nodeFailure, type NodeResult } from '../../core/results.ts';
import type { Origin } from '../../database/changeset.ts';
import { Draft } from '../../database/draft.ts';
import type { Store } from '../../database/store.ts';
import type { Dhcp } from '../dhcp/dhcp.ts';
import { followReservations } from './reservations.ts';
import { type BootStates, planBootStates } from './states.ts';

export interface StateServices {
  readonly store: Store;
  readonly dhcp: Dhcp;
}

/** Brings nodes to a state: one change set for all of them, and then their reservations. */
export async function setBootStates(
  { store, dhcp }: StateServices,
  origin: Origin,
  nodes: readonly string[],
  states: BootStates,
): Promise<readonly NodeResult[]> {
  let planned: readonly NodeResult[] = [];
  const { snapshot } = await store.change(origin, function* (head) {
    const draft = new Draft(head);
    planned = yield* planBootStates(draft, nodes, states);
    return draft.changes();
  });
  const brought = planned.filter((result) => !('error' in result)).map(({ node }) => node);
  const isOffline = states.first.kind === 'word' && states.first.word === 'offline';
  const failure = await followReservations(dhcp, snapshot, brought, isOffline, origin);
  return failure ? planned.map((one) => ('error' in one ? one : nodeFailure(one.node, failure))) : planned;
}
