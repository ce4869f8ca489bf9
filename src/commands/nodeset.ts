import { Type } from 'typebox';
import type { NodeResult } from '../core/results.ts';
import { atOnce } from '../core/slices.ts';
import { Draft } from '../database/draft.ts';
import { effectiveReader } from '../objects/effective.ts';
import { withoutSecrets } from '../objects/secret-names.ts';
import { setBootStates } from '../services/boot/set-states.ts';
import { parseBootStates, planBootStates, shownBootState } from '../services/boot/states.ts';
import { nodeArguments, selectNodes } from './command.ts';
import { perNode } from './per-node.ts';

const args = Type.Object({
  ...nodeArguments,
  state: Type.Optional(Type.String({ description: 'what nodes are to boot; without it that is read' })),
  members: Type.Optional(Type.Array(Type.String(), { description: 'what the state is called in the answer' })),
});

/**
 * What nodes do when they boot from the network. All of it is one change set: boot scripts and answer files are made of it when a node
 * asks for them, so there is nothing to write that could be half written.
 */
export const nodeset = perNode({
  name: 'nodeset',
  args,
  line: ({ state }) => [state === undefined ? 'stat' : withoutSecrets(state)],
  select: selectNodes,
  outlivesClient: ({ state }) => state !== undefined,
  prepare(snapshot, { state, members = ['bootstat'] }) {
    if (state !== undefined) {
      const states = parseBootStates(state);
      // An image that does not exist is refused before anything begins.
      atOnce(planBootStates(new Draft(snapshot), [], states));
    }
    const reader = effectiveReader(snapshot);
    return {
      shared: {},
      target: (node: string) => {
        const shown = shownBootState(reader, node);
        return Object.fromEntries(members.map((member) => [member, shown]));
      },
    };
  },
  work: (_shared, target, { node }) => Promise.resolve({ node, value: target }),
  async *finish(results, { state }, scope): AsyncIterable<readonly NodeResult[]> {
    if (state === undefined) {
      yield* results;
      return;
    }
    const { selection, run, caller } = scope;
    const origin = { user: caller.user, client: caller.client, command: 'nodeset', run };
    yield await setBootStates(scope, origin, selection.nodes ?? [], parseBootStates(state));
  },
});
