import { Type } from 'typebox';
import { lsattributes } from '../../commands/index.ts';
import { anyMembers, endpoint, type Endpoint } from '../endpoint.ts';

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
