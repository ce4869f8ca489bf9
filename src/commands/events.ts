import { Type } from 'typebox';
import type { Interruptible } from '../core/slices.ts';
import { eventKinds } from '../core/event-kinds.ts';
import { noSelection, query, type Question, selectNodes } from './command.ts';

/** Sends what happens, as it happens: of nodes that the caller may run it on, and of the caller's own runs. */
export const events = query({
  name: 'events',
  args: Type.Object({
    kinds: Type.Optional(Type.Array(Type.Enum(eventKinds))),
    range: Type.Optional(Type.String({ description: 'only of these nodes' })),
    after: Type.Optional(Type.String({ description: 'the id of the last event that the caller has' })),
    seconds: Type.Optional(Type.Number({ description: 'for so long' })),
  }),
  uses: ['events'],
  line: ({ kinds }) => (kinds === undefined ? [] : ['-k', kinds.join(',')]),
  select: (snapshot, { range }, services) =>
    range === undefined ? noSelection : selectNodes(snapshot, { range, refuseEmpty: true }, services),
  // Without nodes it is about all that the caller may hear of; whoever could not be allowed it at all was refused before.
  questions: (_snapshot, { range }) => (range === undefined ? noQuestions() : undefined),
  run(_snapshot, { kinds = eventKinds, range, after, seconds }, { events: hub, caller, ranges }) {
    const { user, scope, addresses, token, login } = caller;
    const line = kinds === eventKinds ? '' : `-k ${kinds.join(',')}`;
    const filter = {
      user,
      scope,
      addresses,
      command: 'events',
      line,
      kinds,
      range,
      ranges: { rangeFiles: ranges.rangeFiles },
    };
    return { shape: 'events', listen: (open) => hub.listen({ user, token, login, filter, after, seconds }, open) };
  },
});

// oxlint-disable-next-line require-yield -- there is nothing to do in slices
function* noQuestions(): Interruptible<readonly Question[]> {
  return [];
}
