import { Type } from 'typebox';
import { localrest } from '../../commands/localrest.ts';
import { makehosts } from '../../commands/makehosts.ts';
import { makenetworks } from '../../commands/makenetworks.ts';
import { type NameOrder, nameOrders } from '../../services/hosts/line-format.ts';
import { definitionBody } from '../definition-body.ts';
import { type Endpoint, endpoint, type Input } from '../endpoint.ts';

const range = 'noderange';
const target = ({ params }: Input) => ({ range: params['noderange']!, refuseEmpty: true }) as const;

const lineMembers = {
  order: Type.Optional(
    Type.Enum([...nameOrders], {
      description: 'the names that stand first; else the site attribute FQDNfirst decides',
    }),
  ),
  longOthers: Type.Optional(Type.Boolean({ description: 'other names appear with their domain too' })),
};
const lineBody = Type.Object(lineMembers, { additionalProperties: false });
const fileBody = Type.Object(
  {
    ...lineMembers,
    fresh: Type.Optional(Type.Boolean({ description: "drops all lines but the management node's own first" })),
  },
  { additionalProperties: false },
);

interface LineOptions {
  readonly order?: NameOrder;
  readonly longOthers?: boolean;
  readonly fresh?: boolean;
}

const untouched =
  "Comments and lines of other hosts stay as they are; a line that has a node's address or begins with its name becomes the node's. Loopback lines and those of the management node are never touched.";

export const names: Endpoint[] = [
  endpoint({
    method: 'POST',
    path: '/nodes/{noderange}/host',
    command: makehosts,
    reply: 'none',
    body: lineBody,
    args: (input) => ({ ...target(input), ...(input.body as LineOptions) }),
    range,
    summary: "Write nodes' names and addresses to the hosts file.",
    description: `${untouched} Nodes without an address or a domain are left out; debug=1 and the run name them.`,
    example: { path: '/nodes/n1/host', body: { order: 'long' } },
  }),
  endpoint({
    method: 'DELETE',
    path: '/nodes/{noderange}/host',
    command: makehosts,
    reply: 'none',
    args: (input) => ({ ...target(input), remove: true }),
    range,
    summary: "Take nodes' lines out of the hosts file.",
    example: { path: '/nodes/n1/host' },
    only: '/muster',
  }),
  endpoint({
    method: 'POST',
    path: '/services/host',
    command: makehosts,
    reply: 'none',
    body: fileBody,
    args: ({ body }) => ({ range: undefined, ...(body as LineOptions) }),
    summary: 'Write the names and addresses of all nodes to the hosts file.',
    description: `${untouched} A node whose address is none is an error; the lines of the others are written all the same.`,
    example: { path: '/services/host', body: {} },
  }),
  endpoint({
    method: 'POST',
    path: '/networks',
    command: makenetworks,
    reply: 'none',
    body: Type.Object(
      {},
      { additionalProperties: true, description: 'attribute: value, for the networks that are made' },
    ),
    args: ({ body }) => ({ attributes: definitionBody(body).attributes }),
    summary: "Define the networks that the management node's interfaces are in.",
    description:
      'From the routes of the machine, IPv4 and IPv6. Networks that are defined already stay as they are. The attributes are for all that are made, so a gateway that is not inside each of them is an error.',
    example: { path: '/networks', body: { domain: 'cluster.example' } },
  }),
  endpoint({
    method: 'GET',
    path: '/localres/adapters',
    command: localrest,
    reply: 'objects',
    args: () => ({}),
    summary: "The management node's own addresses, without loopback.",
    example: {
      path: '/localres/adapters',
      reply: [{ name: 'eth0', ip: '10.1.0.250/16', mac: '52:54:00:12:34:56' }],
    },
  }),
];
