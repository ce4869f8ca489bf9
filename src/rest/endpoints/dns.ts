import { makedns } from '../../commands/makedns.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';

export const dns: Endpoint[] = [
  endpoint({
    method: 'POST',
    path: '/nodes/{noderange}/dns',
    command: makedns,
    reply: 'none',
    args: ({ params }) => ({ range: params['noderange']!, refuseEmpty: true }),
    range: 'noderange',
    summary: 'Put the names of nodes into DNS.',
    description:
      'Addresses, names of addresses, and other names (hosts.hostnames) as aliases; what the nodes had in DNS before and have no more is removed. Each node must be in the hosts file: POST /nodes/{noderange}/host first.',
    example: { path: '/nodes/n1/dns' },
  }),
  endpoint({
    method: 'DELETE',
    path: '/nodes/{noderange}/dns',
    command: makedns,
    reply: 'none',
    args: ({ params }) => ({ range: params['noderange']!, refuseEmpty: true, remove: true }),
    range: 'noderange',
    summary: 'Take the names of nodes out of DNS.',
    description:
      'Removes the records that were put there for these nodes; what others have added to the same names stays.',
    example: { path: '/nodes/n1/dns' },
  }),
  endpoint({
    method: 'POST',
    path: '/services/dns',
    command: makedns,
    reply: 'none',
    args: () => ({ range: undefined }),
    summary: 'Set up the DNS service.',
    description:
      'Writes the configuration of BIND and zones for all domains and networks, checks them, lets named serve them, with all hosts of the hosts file in them. May be repeated at any time: named goes on serving, and keeps serving what it had if anything fails. With site.externaldns the hosts are sent to that server instead.',
    example: { path: '/services/dns' },
  }),
];
