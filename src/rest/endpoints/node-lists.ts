import { Type } from 'typebox';
import { lsdefCounts, lsdefPage } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { allResources, splitList } from './definitions.ts';
import { endpoint, type Endpoint, type Input } from './endpoint.ts';

const text = Type.String();

const listedOf = ({ params }: Input) => {
  const attributes = splitList(params['attributes']!);
  if (attributes.length === 0) throw new Fault('malformed', 'Name attributes in the path, with commas between them.');
  const range = params['noderange']!;
  return { ...(range === allResources ? {} : { names: range }), attributes };
};

function numberIn({ query }: Input, name: string, usual: number, least: number, most: number): number {
  const given = query[name];
  const number = given === undefined ? usual : /^\d{1,9}$/.test(given) ? Number(given) : -1;
  if (number < least || number > most)
    throw new Fault('malformed', `${name}: give a number from ${least} to ${most}, not "${given}".`);
  return number;
}

/** For whoever shows many nodes and needs only a part of them. */
export const nodeLists: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/list/{attributes}', {
    command: lsdefPage,
    reply: 'object',
    only: '/muster',
    returns: Type.Object({
      count: Type.Integer({ description: 'how many nodes there are in all' }),
      offset: Type.Integer(),
      nodes: Type.Array(Type.Object({ node: text }, { additionalProperties: text })),
    }),
    query: {
      sort: 'an attribute, or node for the name; -rack is the other way round. Numbers in values count as numbers. Without it the order in which GET /nodes/{noderange} has them',
      offset: 'how many nodes are left out at the beginning; 0 without it',
      limit: 'how many nodes there are at most, 1 to 10000; 100 without it',
    },
    args: (input) => ({
      ...listedOf(input),
      sort: input.query['sort'],
      offset: numberIn(input, 'offset', 0, 0, 999_999_999),
      limit: numberIn(input, 'limit', 100, 1, 10_000),
    }),
    summary: 'A part of a list of nodes with some attributes, sorted; ALLRESOURCES names all nodes.',
    description:
      'Nodes with equal values stand in the order in which GET /nodes/{noderange} has them. If nodes come or go between two requests, parts move.',
    example: {
      path: '/nodes/n1/list/status,rack',
      query: { sort: '-rack', limit: '2' },
      reply: { count: 1, offset: 0, nodes: [{ node: 'n1', status: 'booted', rack: 'r1' }] },
    },
  }),
  endpoint('GET /nodes/{noderange}/counts/{attributes}', {
    command: lsdefCounts,
    reply: 'object',
    only: '/muster',
    returns: Type.Object({
      count: Type.Integer({ description: 'how many nodes there are in all' }),
      counts: Type.Record(
        text,
        Type.Object({
          values: Type.Array(Type.Object({ value: text, count: Type.Integer() }), {
            description: 'what most nodes have comes first; at most 1000 values',
          }),
          others: Type.Integer({ description: 'nodes with other values than these' }),
        }),
      ),
    }),
    args: listedOf,
    summary: 'How many nodes have each value of attributes, such as status; ALLRESOURCES names all nodes.',
    description: 'The empty value is that of nodes without one. At most 20 attributes.',
    example: {
      path: '/nodes/n1/counts/status',
      reply: { count: 1, counts: { status: { values: [{ value: 'booted', count: 1 }], others: 0 } } },
    },
  }),
];
