import { Type } from 'typebox';
import { services } from '../../bus/index.ts';
import { lsservers, rmserver } from '../../commands/index.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

const count = Type.Integer({ minimum: 0 });

const server = Type.Object({
  name: Type.String(),
  role: Type.Enum(['server', 'worker']),
  state: Type.Enum(['connected', 'gone']),
  version: Type.String(),
  host: Type.Optional(Type.String({ description: 'of a worker: the machine it runs on' })),
  since: Type.String({ description: 'when it was started' }),
  listens: Type.Optional(Type.Array(Type.String(), { description: 'of a server: HOST:PORT where it listens' })),
  heard: Type.Optional(Type.String({ description: 'when it was last heard of; absent of the server that is asked' })),
  jobs: { ...count, description: 'pieces of work under way' },
  nodes: { ...count, description: 'nodes that these are about' },
  assigned: Type.Optional({
    ...count,
    description: 'nodes that it works on, now that the others are as they are; of servers only that of the one asked',
  }),
  serves: Type.Optional(
    Type.Array(Type.Enum([...services]), { description: 'of a worker: what it serves its nodes besides commands' }),
  ),
  boots: Type.Optional({
    ...count,
    description: 'of a worker that is to serve boot files: nodes that boot from it now, by their DHCP reservations',
  }),
  problem: Type.Optional(Type.String({ description: 'what is wrong, and what to do' })),
});

export const serversReply = Type.Object({ servers: Type.Array(server) });

export const servers: Endpoint[] = [
  endpoint('GET /servers', {
    command: lsservers,
    reply: 'object',
    returns: serversReply,
    summary: 'The servers of this database and the workers on service nodes.',
    description:
      'Servers that were killed or lost, and workers, are listed for a day after they were last heard of; a server that is stopped is not. While the database is away, other servers are missing, and problem says so. A dry run of a command says which worker would do it for each node.',
    example: {
      reply: {
        servers: [
          {
            name: 'mgmt1',
            role: 'server',
            state: 'connected',
            version: '0.1.0',
            since: '2026-11-15T09:00:00.000Z',
            listens: ['10.0.0.1:8443'],
            jobs: 0,
            nodes: 0,
            assigned: 12,
          },
          {
            name: 'mgmt2',
            role: 'server',
            state: 'gone',
            version: '0.1.0',
            since: '2026-11-15T09:00:00.000Z',
            listens: ['10.0.0.2:8443'],
            heard: '2026-11-15T09:48:00.000Z',
            jobs: 0,
            nodes: 0,
            problem:
              'It says nothing any more, and was not stopped: it was killed, it hangs, or it cannot reach the database. Look at its machine, and start it again. If it will not come back: DELETE /servers/mgmt2.',
          },
          {
            name: 'sn1',
            role: 'worker',
            state: 'connected',
            version: '0.1.0',
            host: 'sn1',
            since: '2026-11-15T09:00:00.000Z',
            heard: '2026-11-15T10:00:00.000Z',
            jobs: 1,
            nodes: 256,
            assigned: 500,
            serves: ['boot'],
            boots: 480,
          },
        ],
      },
    },
  }),
  endpoint('DELETE /servers/{server}', {
    command: rmserver,
    args: ({ params }) => ({ name: params['server']! }),
    summary: 'Forget a server that is gone and will not come back.',
    description:
      'It only leaves the list: a server that does come back is listed again. One that is connected is refused with 409; stop it instead.',
    example: { path: '/servers/mgmt2' },
  }),
];
