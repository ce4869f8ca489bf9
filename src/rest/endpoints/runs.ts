import { type TSchema, Type } from 'typebox';
import { lsrun, stoprun } from '../../commands/index.ts';
import { anyMembers, endpoint, type Endpoint } from './endpoint.ts';

const count = Type.Integer({ minimum: 0 });
const sentences = Type.Array(Type.String());
const maybe = (schema: TSchema, description: string) => Type.Optional({ ...schema, description });

/** What came of one node. */
const result = Type.Object({
  node: Type.String(),
  value: Type.Optional(Type.Unknown({ description: 'attributes, lines, or what a command printed' })),
  error: Type.Optional(Type.String()),
  output: Type.Optional(Type.Unknown({ description: 'what a command that failed printed' })),
});

const progress = Type.Object({ done: Type.Number(), of: Type.Number(), line: Type.String() });

/** What lists show of a run too. */
const head = {
  id: Type.String(),
  command: Type.String(),
  user: Type.String(),
  nodes: count,
  ok: count,
  failed: count,
  errorcode: Type.Integer(),
  state: Type.Enum(['running', 'finished', 'cancelled', 'interrupted']),
  started: Type.String({ format: 'date-time' }),
  finished: maybe(Type.String({ format: 'date-time' }), 'absent while it runs'),
  progress: maybe(progress, 'of long work: how far it is'),
};

/** A run as GET shows it. */
const runReply = Type.Object({
  ...head,
  results: maybe(Type.Array(result), 'of work on nodes, in the order in which they came'),
  underWay: Type.Optional(anyMembers('nodes that have no result yet, each with how far it is', Type.String())),
  messages: maybe(sentences, 'what there was to say'),
  notes: maybe(sentences, 'what was taken though it looks wrong'),
  lines: maybe(sentences, 'of long work: its last lines'),
  linesBefore: maybe(count, 'of long work: how many lines came before these'),
  error: maybe(sentences, 'of long work: why it failed'),
  note: maybe(Type.String(), 'why the results are no longer kept'),
});

/** Runs as they are listed. */
const runsReply = Type.Object({
  runs: Type.Array(Type.Object(head), { description: 'the newest first' }),
  note: maybe(Type.String(), 'why those of other servers are missing'),
});

const id = '0b1ef7f5-6a6c-4c0e-9a51-1f7d7f1c5c11';

const exampleRun = {
  id,
  user: 'root',
  nodes: 2,
  errorcode: 0,
  started: '2026-11-15T09:05:00.000Z',
};

export const runs: Endpoint[] = [
  endpoint('GET /runs', {
    command: lsrun,
    reply: 'object',
    returns: runsReply,
    query: {
      state: 'only those that are running, finished, cancelled or interrupted',
      user: 'only those of this user; without full rights you see only your own',
      command: 'only those of this command, such as rpower',
      limit: 'how many at most, up to 1000; usually 100',
    },
    args: ({ query: { state, user, command, limit } }) => ({ state, user, command, limit }),
    summary: 'Who runs what, since when, and how far it is; the newest first.',
    description:
      "Runs of the last day, at whichever server: your own, or everybody's with full rights. Readings of the database are left out, as each has ended when it is answered. While the database is away, those of other servers are missing, and note says so.",
    example: {
      query: { state: 'running' },
      reply: { runs: [{ ...exampleRun, command: 'rpower', ok: 1, failed: 0, state: 'running' }] },
    },
  }),
  endpoint('GET /runs/{id}', {
    command: lsrun,
    reply: 'object',
    returns: runReply,
    args: ({ params }) => ({ id: params['id']! }),
    summary: 'Progress and results of a run; its id is in the header X-Muster-Run of the reply.',
    description:
      'Of long work also progress (done, of, line), its last lines, and error if it failed; its state may be cancelled or interrupted too. Of work on nodes that takes long, such as copying disks, underWay says of each node how far it is. A run is interrupted if its server was stopped or killed before it ended.',
    example: {
      path: `/runs/${id}`,
      reply: {
        ...exampleRun,
        command: 'lsdef',
        ok: 2,
        failed: 0,
        state: 'finished',
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
