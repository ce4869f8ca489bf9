import { Type } from 'typebox';
import { lsattributes, nodeadd, nodech, nodegrpch, nodels, tabgrep } from '../../commands/index.ts';
import type { Row } from '../../database/tables.ts';
import { valueText } from './definition-body.ts';
import { splitList } from './definitions.ts';
import { anyMembers, endpoint, type Endpoint, type Input, members } from './endpoint.ts';

const ip = {
  meaning: 'the node’s address',
  type: 'IP address',
  stored: ['hosts.ip'],
  readBy: 'makehosts, makedns, makedhcp, network boot, installers, discovery, commands on nodes, nodestat',
};

const text = Type.String();
const described = anyMembers(
  'types of objects, each with its attributes',
  anyMembers('attributes by name', Type.Object({ meaning: text, type: text, stored: Type.Array(text), readBy: text })),
);

export const attributes: Endpoint[] = [
  endpoint('GET /attributes', {
    command: lsattributes,
    reply: 'object',
    returns: described,
    summary: 'What every attribute of every type of objects, and every column of every table, means.',
    description:
      'Columns of tables are under tables.NAME. readBy names the services and commands that do something with the value; definitions, tables and node ranges have all of them.',
    example: { reply: { node: { ip } } },
    only: '/muster',
  }),
  endpoint('GET /attributes/{objtype}', {
    command: lsattributes,
    reply: 'object',
    returns: described,
    args: ({ params }) => ({ type: params['objtype']! }),
    summary:
      'The same of one type, such as node, group, osimage, network, policy or site, or of one table, such as tables.nodelist.',
    example: { path: '/attributes/node', reply: { node: { ip } } },
    only: '/muster',
  }),
];

const columnsMember = (description: string) => Type.Optional(anyMembers(description));

const set = columnsMember('TABLE.COLUMN: value; an empty value hides what the groups give');

const rowMember = ({ body }: Input, name: string): Row | undefined => {
  const given = body[name] as Readonly<Record<string, unknown>> | undefined;
  return (
    given && Object.fromEntries(Object.entries(given).map(([column, value]) => [column, valueText(column, value)]))
  );
};

/** Columns of tables under the names that administrators know, without a detour over attributes. */
export const columns: Endpoint[] = [
  endpoint('GET /nodes/{noderange}/columns/{columns}', {
    command: nodels,
    reply: 'attributes',
    query: {
      hidden: '1: hidden nodes of groups too',
      origins: '1: not the values but, where a group gives one, the name of that group',
    },
    args: ({ params, query }) => ({
      range: params['noderange']!,
      columns: splitList(params['columns']!),
      hidden: query['hidden'] === '1',
      origins: query['origins'] === '1',
    }),
    summary: 'Columns of nodes as they are in effect: TABLE.COLUMN each, or a table for all of its columns.',
    example: {
      path: '/nodes/n1/columns/nodetype.arch,nodehm.mgt',
      reply: { n1: { 'nodetype.arch': 'x86_64', 'nodehm.mgt': 'ipmi' } },
    },
    only: '/muster',
  }),
  endpoint('PUT /nodes/{noderange}/columns', {
    command: nodech,
    body: members({
      set,
      add: columnsMember('TABLE.COLUMN: items that are put before those in effect'),
      remove: columnsMember('TABLE.COLUMN: items that are taken out of those in effect'),
      tables: Type.Optional(Type.Array(Type.String(), { description: 'tables whose rows of the nodes are removed' })),
      where: Type.Optional(
        Type.Array(Type.String(), {
          maxItems: 10,
          description: 'only nodes that meet all of these: TABLE.COLUMN, one of == != =~ !~, and a value',
        }),
      ),
    }),
    args: (input) => ({
      range: input.params['noderange']!,
      set: rowMember(input, 'set'),
      add: rowMember(input, 'add'),
      remove: rowMember(input, 'remove'),
      tables: input.body['tables'] as string[] | undefined,
      where: input.body['where'] as string[] | undefined,
    }),
    summary: "Change columns of nodes' own rows.",
    example: { body: { set: { 'nodepos.rack': 'r5' }, add: { 'nodelist.groups': 'spare' } } },
    only: '/muster',
  }),
  endpoint('POST /nodes/{noderange}/columns', {
    command: nodeadd,
    body: members({ set }),
    args: (input) => ({ names: input.params['noderange']!, set: rowMember(input, 'set') ?? {} }),
    summary: 'Create nodes from columns; of nodes that exist, the columns are set.',
    example: {
      path: '/nodes/n7-n9/columns',
      body: { set: { 'nodelist.groups': 'all,compute', 'nodehm.mgt': 'ipmi' } },
    },
    only: '/muster',
  }),
  endpoint('GET /nodes/{noderange}/tables', {
    command: tabgrep,
    reply: 'list',
    args: ({ params }) => ({ range: params['noderange']! }),
    summary: 'The tables that have a row of one of the nodes, or of one of their groups.',
    example: { reply: ['ipmi', 'nodehm', 'nodelist', 'noderes', 'nodetype'] },
    only: '/muster',
  }),
  endpoint('PUT /groups/{groupname}/columns', {
    command: nodegrpch,
    body: members({ set }),
    args: (input) => ({ groups: input.params['groupname']!, set: rowMember(input, 'set') ?? {} }),
    summary: 'Give groups values of columns; values of their own that members had there are unset.',
    example: { path: '/groups/compute/columns', body: { set: { 'nodepos.rack': 'r5' } } },
    only: '/muster',
  }),
];
