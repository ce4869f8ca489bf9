import { Type } from 'typebox';
import { lspowerbudget, rmpowerbudget, setpowerbudget } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { endpoint, type Endpoint, members } from './endpoint.ts';

const watts = Type.Number();
const summaryOf = {
  noderange: Type.Optional(Type.String()),
  watts,
  time: Type.Optional(Type.String({ description: 'of the last look; the rest is from then' })),
  drawn: Type.Optional(Type.Number({ description: 'watts that the nodes draw together' })),
  bound: Type.Optional(Type.Number({ description: 'watts that they can draw together with their caps' })),
  held: Type.Optional(Type.Boolean()),
  problems: Type.Optional(Type.Array(Type.String())),
};
const report = Type.Object({
  ...summaryOf,
  nodes: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Object({
        drawn: Type.Optional(Type.Number()),
        cap: Type.Optional(Type.Number()),
        problem: Type.Optional(Type.String()),
      }),
    ),
  ),
});
const example = { noderange: 'rack1', watts: 12_000, time: '2026-11-15T09:05:00.000Z', drawn: 9_120, bound: 11_998 };

function numberIn(text: string | undefined): number | undefined {
  if (text === undefined || /^[1-9]\d{0,8}$/.test(text)) return text === undefined ? undefined : Number(text);
  throw new Fault('malformed', `watts: give a whole number of watts, not "${text}".`);
}

/** Limits of power for sets of nodes. */
export const powerBudgets: Endpoint[] = [
  endpoint('GET /powerbudgets', {
    command: lspowerbudget,
    reply: 'object',
    only: '/muster',
    returns: Type.Object({ powerbudgets: Type.Record(Type.String(), Type.Object(summaryOf)) }),
    summary: 'The power budgets, and whether they are held.',
    example: { path: '/powerbudgets', reply: { powerbudgets: { rack1: { ...example, held: true, problems: [] } } } },
  }),
  endpoint('GET /powerbudgets/{budget}', {
    command: lspowerbudget,
    reply: 'object',
    only: '/muster',
    returns: report,
    query: {
      watts: 'how so many watts would be spread over the nodes now; changes nothing',
      noderange: 'with watts: over these nodes',
    },
    args: ({ params, query }) => ({
      name: params['budget']!,
      watts: numberIn(query['watts']),
      range: query['noderange'],
    }),
    summary: 'A power budget, with what each of its nodes draws and is capped at.',
    example: {
      path: '/powerbudgets/rack1',
      reply: { ...example, held: true, problems: [], nodes: { n1: { drawn: 310, cap: 400 } } },
    },
  }),
  endpoint('PUT /powerbudgets/{budget}', {
    command: setpowerbudget,
    only: '/muster',
    body: members({
      watts: Type.Integer({ description: 'for all of its nodes together', 'x-lack': 'missing-member' }),
      noderange: Type.Optional(
        Type.String({ description: 'absent: the nodes it has, or those of the group with its name' }),
      ),
    }),
    args: ({ params, body }) => {
      if (body['watts'] === undefined) throw new Fault('missing-member', 'The body lacks the member "watts".');
      return {
        name: params['budget']!,
        watts: body['watts'] as number,
        range: body['noderange'] as string | undefined,
      };
    },
    summary: 'Limit the power that nodes draw together: muster caps them, and follows what they draw.',
    description: 'Needs the right to set cappingvalue (renergy) on all of the nodes. A node has one budget.',
    example: { path: '/powerbudgets/rack1', body: { watts: 12_000, noderange: 'n1' } },
  }),
  endpoint('DELETE /powerbudgets/{budget}', {
    command: rmpowerbudget,
    only: '/muster',
    args: ({ params }) => ({ name: params['budget']! }),
    summary: 'Remove a power budget: its nodes get the power limits of before.',
    example: { path: '/powerbudgets/rack1' },
  }),
];
