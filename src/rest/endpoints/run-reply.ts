import { type TSchema, Type } from 'typebox';
import { anyMembers } from '../endpoint.ts';

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

/** What is told of a run in lists too. */
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
export const runReply = Type.Object({
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
export const runsReply = Type.Object({ runs: Type.Array(Type.Object(head), { description: 'the newest first' }) });
