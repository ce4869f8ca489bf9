import { lsleases } from '../../commands/lsleases.ts';
import { makedhcp } from '../../commands/makedhcp.ts';
import { type Endpoint, endpoint, type Input } from '../endpoint.ts';

const range = 'noderange';
const nodes = ({ params }: Input) => ({ range: params['noderange']!, refuseEmpty: true }) as const;

export const dhcp: Endpoint[] = [
  endpoint({
    method: 'POST',
    path: '/services/dhcp',
    command: makedhcp,
    reply: 'none',
    args: () => ({ range: undefined }),
    summary: 'Serves all defined networks by DHCP.',
    description:
      'Kea is configured with their gateways, name, time and log servers, domains, dynamic ranges and boot files, and started if it does not run. Reservations stay. Nothing changes if a network cannot be served as it is defined.',
    example: { path: '/services/dhcp' },
  }),
  endpoint({
    method: 'GET',
    path: '/services/dhcp/leases',
    command: lsleases,
    reply: 'objects',
    args: () => ({}),
    summary: 'Addresses that machines have been given by DHCP for a time.',
    only: '/muster',
    example: {
      path: '/services/dhcp/leases',
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
  endpoint({
    method: 'POST',
    path: '/nodes/{noderange}/dhcp',
    command: makedhcp,
    reply: 'none',
    range,
    args: nodes,
    summary: "Reserves the nodes' addresses for their MAC addresses.",
    description:
      'From attribute mac, whose form is mac[!host]|mac!*NOIP*: the host is the node itself or a name of one of its interfaces, *NOIP* makes DHCP ignore the MAC address. Served at once; if Kea is away it is an error, and done when Kea is back.',
    example: { path: '/nodes/n1,n2/dhcp' },
  }),
  endpoint({
    method: 'DELETE',
    path: '/nodes/{noderange}/dhcp',
    command: makedhcp,
    reply: 'none',
    range,
    args: (input) => ({ ...nodes(input), remove: true }),
    summary: 'Takes the reservations of the nodes back.',
    example: { path: '/nodes/n1/dhcp' },
  }),
];
