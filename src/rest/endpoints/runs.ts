import { lsrun, stoprun } from '../../commands/index.ts';
import { endpoint, type Endpoint } from '../endpoint.ts';
import { runReply } from './run-reply.ts';

const id = '0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11';

export const runs: Endpoint[] = [
  endpoint('GET /runs/{id}', {
    command: lsrun,
    reply: 'object',
    returns: runReply,
    args: ({ params }) => ({ id: params['id']! }),
    summary: 'Progress and results of a run; its id is in the header X-Muster-Run of the reply.',
    description:
      'Of long work also progress (done, of, line), its last lines, and error if it failed; its state may be cancelled or interrupted too. Of work on nodes that takes long, such as copying disks, underWay says of each node how far it is.',
    example: {
      path: `/runs/${id}`,
      reply: {
        id,
        command: 'lsdef',
        user: 'root',
        nodes: 2,
        ok: 2,
        failed: 0,
        errorcode: 0,
        state: 'finished',
        started: '2026-11-15T09:05:00.000Z',
        finished: '2026-11-15T09:05:00.004Z',
      },
    },
  }),
  endpoint('DELETE /runs/{id}', {
    command: stoprun,
    args: ({ params }) => ({ id: params['id']! }),
    summary: 'Cancel a run.',
    example: { path: `/runs/${id}` },
  }),
];
