import { Type } from 'typebox';
import { snmove } from '../../commands/index.ts';
import { endpoint, type Endpoint, type Input, members } from './endpoint.ts';

const word = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));

const destination = {
  servicenode: word('the new service node; without it the second of each node’s list'),
  xcatmaster: word('its name or address as the nodes know it; without it its address in the network of each node'),
  fromxcatmaster: word('the old service node as the nodes know it; without it xcatmaster of each node'),
};

const movedTo = ({ body }: Input) => body as Partial<Record<keyof typeof destination | 'from', string>>;

const description =
  'The new service node comes first in servicenode of each node, and the others stay behind it in their order. xcatmaster becomes its name or address. tftpserver, nfsserver, monserver and conserver follow if they named the old service node. If one of the nodes cannot be moved, nothing is changed. The reply lists the nodes. Nothing is run on the nodes: POST /nodes/NODERANGE/postscript {"scripts":["syslog"]} does that afterwards.';

const example = {
  body: { servicenode: 'sn2', xcatmaster: '10.1.0.3' },
  reply: ['n1'],
};

export const serviceNodes: Endpoint[] = [
  endpoint('PUT /nodes/{noderange}/servicenode', {
    command: snmove,
    reply: 'list',
    body: members({ ...destination, from: word('the old service node; nodes whose first one is another are refused') }),
    args: (input) => ({ range: input.params['noderange']!, ...movedTo(input) }),
    summary: 'Move nodes to another service node.',
    description,
    example,
    only: '/muster',
  }),
  endpoint('PUT /servicenodes/{servicenode}/nodes', {
    command: snmove,
    reply: 'list',
    body: members(destination),
    args: (input) => ({ ...movedTo(input), from: input.params['servicenode']! }),
    summary: 'Move all nodes whose first service node is this one to another.',
    description,
    example: { path: '/servicenodes/sn1/nodes', ...example },
    only: '/muster',
  }),
];
