import { Type } from 'typebox';
import { inSlices } from '../core/slices.ts';
import { effectiveReader } from '../objects/effective.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import {
  imagesWanted,
  parseBootStates,
  planBootStates,
  type ReadinessByImage,
  shownBootState,
  stateTables,
  withReservations,
} from '../boot/index.ts';
import { nodeArguments, query, selectNodes } from './command.ts';
import { nodeChange } from './node-change.ts';

/**
 * What nodes do when they boot from the network. All of it is one change set: boot scripts and answer files are made of it when a node
 * asks for them, so there is nothing to write that could be half written. Reservations follow.
 */
export const nodeset = nodeChange({
  name: 'nodeset',
  args: Type.Object({
    ...nodeArguments,
    state: Type.String({ description: 'what nodes are to boot' }),
    force: Type.Optional(Type.Boolean({ description: 'also what cannot boot now' })),
  }),
  uses: ['boot', 'nodeDhcp'],
  line: ({ state, force }) => [withoutSecrets(state), ...(force ? ['--force'] : [])],
  select: selectNodes,
  decides: stateTables,
  async prepare(snapshot, { state }, { boot, selection }): Promise<ReadinessByImage> {
    const wanted = imagesWanted(effectiveReader(snapshot), selection.nodes ?? [], parseBootStates(state));
    return boot.readiness(snapshot, await inSlices(wanted));
  },
  plan: (draft, { state, force }, { selection }, readiness) =>
    planBootStates(draft, selection.nodes ?? [], parseBootStates(state), { readiness, force }),
  async *after(planned, { state }, { nodeDhcp, snapshot, run, caller: { user, client } }) {
    const origin = { user, client, command: 'nodeset', run };
    yield await withReservations(nodeDhcp, snapshot, planned, parseBootStates(state), origin);
  },
});

/** Its reading. */
export const nodesetStat = query({
  name: 'nodeset',
  args: Type.Object({
    ...nodeArguments,
    members: Type.Optional(Type.Array(Type.String(), { description: 'what the state is called in the answer' })),
  }),
  line: () => ['stat'],
  select: selectNodes,
  run(snapshot, { members = ['bootstat'] }, { selection: { nodes = [] } }) {
    const reader = effectiveReader(snapshot);
    return {
      shape: 'objects',
      names: nodes.toSorted(),
      attributes(node) {
        const shown = shownBootState(reader, node);
        return Object.fromEntries(members.map((member) => [member, shown]));
      },
    };
  },
});
