import { type Static, Type } from 'typebox';
import {
  localnetworks,
  localrest,
  lsleases,
  makedhcp,
  makedns,
  makehosts,
  makenetworks,
  makeroutes,
} from '../../commands/index.ts';
import { nameOrders } from '../../names/index.ts';
import { definitionBody } from './definition-body.ts';
import { anyMembers, endpoint, type Endpoint, members, nodesOf } from './endpoint.ts';

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

const lineMembers = {
  order: Type.Optional(
    Type.Enum([...nameOrders], {
      description: 'the names that stand first; else the site attribute FQDNfirst decides',
    }),
  ),
  longOthers: Type.Optional(Type.Boolean({ description: 'other names appear with their domain too' })),
};
const lineBody = members(lineMembers);
const fileBody = members({
  ...lineMembers,
  fresh: Type.Optional(Type.Boolean({ description: "drops all lines but the management node's own first" })),
  only: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'a node range: the same as fresh, and only the lines of these nodes are written',
    }),
  ),
});

type LineOptions = Static<typeof fileBody>;

const routeBody = members({
  routes: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      description: 'names of rows of table routes; without it those of the site attribute mnroutenames',
    }),
  ),
});

const untouched =
  "Comments and lines of other hosts stay as they are; a line that has a node's address or begins with its name becomes the node's. Loopback lines and those of the management node are never touched.";

export const names: Endpoint[] = [
  endpoint('POST /nodes/{noderange}/host', {
    command: makehosts,
    body: lineBody,
    args: (input) => ({
      ...nodesOf(input),
      ...(input.body as LineOptions),
      failsOnNodesLeftOut: input.root.failsOnNodesLeftOut,
    }),
    summary: "Write nodes' names and addresses to the hosts file.",
    description: `${untouched} Nodes without an address or a domain are left out: below /muster they are an error, and the lines of the others are written all the same; below /xcatws debug=1 and the run name them.`,
    example: { body: { order: 'long' } },
  }),
  endpoint('DELETE /nodes/{noderange}/host', {
    command: makehosts,
    args: (input) => ({ ...nodesOf(input), remove: true }),
    summary: "Take nodes' lines out of the hosts file.",
    only: '/muster',
  }),
  endpoint('POST /services/host', {
    command: makehosts,
    body: fileBody,
    args({ body, root: { failsOnNodesLeftOut } }) {
      const { only, ...options } = body as LineOptions;
      if (only === undefined) return { range: undefined, ...options };
      return { range: only, refuseEmpty: true, ...options, fresh: true, failsOnNodesLeftOut };
    },
    summary: 'Write the names and addresses of all nodes to the hosts file.',
    description: `${untouched} A node whose address is none is an error; the lines of the others are written all the same.`,
    example: { body: {} },
  }),
  endpoint('POST /networks', {
    command: makenetworks,
    body: anyMembers('attribute: value, for the networks that are made'),
    args: ({ body }) => ({ attributes: definitionBody(body).attributes }),
    summary: "Define the networks that the management node's interfaces are in.",
    description:
      'From the routes of the machine, IPv4 and IPv6. Networks that are defined already stay as they are. The attributes are for all that are made, so a gateway that is not inside each of them is an error.',
    example: { body: { domain: 'cluster.example' } },
  }),
  endpoint('GET /localres/adapters', {
    command: localrest,
    reply: 'objects',
    summary: "The management node's own addresses, without loopback.",
    example: { reply: [{ name: 'eth0', ip: '10.1.0.250/16', mac: '52:54:00:12:34:56' }] },
  }),
  endpoint('GET /localres/networks', {
    command: localnetworks,
    reply: 'objects',
    returns: Type.Array(anyMembers('its attributes, and whether it is defined')),
    summary: "The networks that the management node's interfaces are in, as POST /networks defines them.",
    description: 'defined says whether there is a definition of the same network and mask, by whatever name.',
    example: {
      reply: [
        {
          name: '10_1_0_0-255_255_0_0',
          net: '10.1.0.0',
          mask: '255.255.0.0',
          mgtifname: 'eth0',
          gateway: '<xcatmaster>',
          tftpserver: '<xcatmaster>',
          mtu: '1500',
          defined: true,
        },
      ],
    },
    only: '/muster',
  }),
  endpoint('POST /services/routes', {
    command: makeroutes,
    body: routeBody,
    args: ({ body }) => body as Static<typeof routeBody>,
    summary: 'Set routes of the management node, as table routes defines them.',
    description:
      'All routes are checked before the first is set. A route that is there already stays; another route to the same network is an error and stays too. Routes last until the machine starts again.',
    example: { body: { routes: ['storage'] } },
    only: '/muster',
  }),
  endpoint('DELETE /services/routes', {
    command: makeroutes,
    body: routeBody,
    args: ({ body }) => ({ ...(body as Static<typeof routeBody>), remove: true }),
    summary: 'Remove routes of the management node.',
    description: 'A route to the same network through another router stays.',
    example: { body: { routes: ['storage'] } },
    only: '/muster',
  }),
];

export const dns: Endpoint[] = [
  endpoint('POST /nodes/{noderange}/dns', {
    command: makedns,
    args: nodesOf,
    summary: 'Put the names of nodes into DNS.',
    description:
      'Addresses, names of addresses, and other names (hosts.hostnames) as aliases; what the nodes had in DNS before and have no more is removed. Each node must be in the hosts file: POST /nodes/{noderange}/host first.',
  }),
  endpoint('DELETE /nodes/{noderange}/dns', {
    command: makedns,
    args: (input) => ({ ...nodesOf(input), remove: true }),
    summary: 'Take the names of nodes out of DNS.',
    description:
      'Removes the records that were put there for these nodes; what others have added to the same names stays.',
  }),
  endpoint('POST /services/dns', {
    command: makedns,
    args: () => ({ range: undefined }),
    summary: 'Set up the DNS service.',
    description:
      'Writes the configuration of BIND and zones for all domains and networks, checks them, lets named serve them, with all hosts of the hosts file in them. May be repeated at any time: named goes on serving, and keeps serving what it had if anything fails. With site.externaldns the hosts are sent to that server instead.',
  }),
];
