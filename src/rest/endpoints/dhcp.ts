import { lsleases, makedhcp } from '../../commands/index.ts';
import { endpoint, type Endpoint, nodesOf } from '../endpoint.ts';

export const dhcp: Endpoint[] = [
  endpoint('POST /services/dhcp', {
    command: makedhcp,
    args: () => ({ range: undefined }),
    summary: 'Serves all defined networks by DHCP.',
    description:
      'Kea is configured with their gateways, name, time and log servers, domains, dynamic ranges and boot files, and started if it does not run. Reservations stay. Nothing changes if a network cannot be served as it is defined.',
  }),
  endpoint('GET /services/dhcp/leases', {
    command: lsleases,
    reply: 'objects',
    summary: 'Addresses that machines have been given by DHCP for a time.',
    only: '/muster',
    example: {
      reply: [
        {
          address: '10.1.200.1',
          mac: '52:54:00:12:34:56',
          hostname: 'new-node',
          network: 'management',
          expires: '2026-05-04T12:00:00.000Z',
        },
      ],
    },
  }),
  endpoint('POST /nodes/{noderange}/dhcp', {
    command: makedhcp,
    args: nodesOf,
    summary: "Reserves the nodes' addresses for their MAC addresses.",
    description:
      'From attribute mac, whose form is mac[!host]|mac!*NOIP*: the host is the node itself or a name of one of its interfaces, *NOIP* makes DHCP ignore the MAC address. Served at once; if Kea is away it is an error, and done when Kea is back.',
    example: { path: '/nodes/n1,n2/dhcp' },
  }),
  endpoint('DELETE /nodes/{noderange}/dhcp', {
    command: makedhcp,
    args: (input) => ({ ...nodesOf(input), remove: true }),
    summary: 'Takes the reservations of the nodes back.',
  }),
];
