import { type Static, type TSchema, Type } from 'typebox';
import type { Effect } from '../core/effects.ts';
import { type ErrorKind, errorKinds } from '../core/errors.ts';
import type { NodeResult } from '../core/results.ts';
import { schemaCheck } from '../core/schema-check.ts';
import type { Loose } from '../core/settings.ts';

/** Raised with every change of what travels over the bus: ends of different protocols do not work together. */
export const protocol = 4;

/** Bytes of the largest message: a job with what its nodes have in common, or the result of a node that printed a lot. */
export const largestJob = 32 * 1024 * 1024;
export const largestReport = 16 * 1024 * 1024;
/** Bytes of what servers and workers say of themselves. */
const largestNotice = 16 * 1024;

/** Names and versions, which people see: no control characters. */
const Word = Type.String({ maxLength: 255, pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$' });
const Sentence = Type.String({ maxLength: 16 * 1024 });
const ShortSentence = Type.String({ maxLength: 600, pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$' });
const Text = Type.String();

/** The last millisecond that a date can have. */
export const latestTime = 8.64e15;

/** What a worker can do for its nodes besides jobs. */
export const services = ['boot', 'dhcp', 'dns', 'syslog'] as const;
export type Service = (typeof services)[number];
const serviceName = Type.Enum([...services]);

/** What a worker says of itself, every few seconds. */
const presenceSchema = Type.Object({
  protocol: Type.Integer(),
  version: Word,
  host: Word,
  /** When it was started, in milliseconds. */
  since: Type.Number({ minimum: 0, maximum: latestTime }),
  jobs: Type.Integer({ minimum: 0 }),
  nodes: Type.Integer({ minimum: 0 }),
  /** It takes no new work; `gone`: this is the last that is heard of it. */
  state: Type.Enum(['ready', 'stopping', 'gone']),
  /** Older protocols say nothing of these. */
  serves: Type.Optional(Type.Array(serviceName, { maxItems: services.length })),
  /** Why it does not serve what it should. */
  problems: Type.Optional(Type.Array(ShortSentence, { maxItems: services.length })),
  /** The versions of the duties that it has got. */
  duties: Type.Optional(Type.Partial(Type.Record(serviceName, Word))),
});
export type Presence = Static<typeof presenceSchema>;

/** What a server says of itself. */
const serverSchema = Type.Object({ protocol: Type.Integer(), version: Word, server: Word });
export type ServerPresence = Static<typeof serverSchema>;

/** What a server tells a worker that gets no work from it. */
const noticeSchema = Type.Object({ server: Word, sentence: Sentence });
export type Notice = Static<typeof noticeSchema>;

/** A Fault on its way. */
export const faultSchema = Type.Object({
  kind: Type.Enum(Object.keys(errorKinds) as ErrorKind[]),
  sentences: Type.Array(Sentence, { maxItems: 64 }),
});

/** A job as `dispatch/job.ts` makes it; what is in it, only its command understands. */
const jobSchema = Type.Object({
  command: Word,
  user: Word,
  shared: Type.Unknown(),
  targets: Type.Record(Type.String(), Type.Unknown()),
  width: Type.Optional(Type.Number()),
  burst: Type.Optional(Type.Number()),
});

/** From a server to a worker. */
const orderSchema = Type.Union([
  Type.Object({
    is: Type.Literal('job'),
    job: jobSchema,
    /** The work on a node may begin only with a go-ahead. */
    asks: Type.Boolean(),
    /** Somebody takes output that is more than can be kept. */
    passesOutput: Type.Boolean(),
    /** For jobs that log in to nodes. */
    ssh: Type.Optional(Type.Object({ privateKey: Text, hostKeys: Type.Enum(['strict', 'first-use']) })),
  }),
  /** The channel is about consoles: `console-messages.ts` has what follows. */
  Type.Object({ is: Type.Literal('consoles') }),
  Type.Object({ is: Type.Literal('go-ahead'), question: Type.Integer() }),
  Type.Object({ is: Type.Literal('cancel'), fault: faultSchema }),
  /** The answer to a question about files. */
  Type.Object({ is: Type.Literal('file'), question: Type.Integer(), answer: Type.Unknown() }),
  Type.Object({ is: Type.Literal('file-fault'), question: Type.Integer(), fault: faultSchema }),
]);
export type Order = Loose<Static<typeof orderSchema>>;
export type JobOrder = Extract<Order, { is: 'job' }>;

const outputSchema = Type.Object({
  stdout: Text,
  stderr: Text,
  code: Type.Optional(Type.Integer()),
  signal: Type.Optional(Word),
  base64: Type.Optional(Type.Object({ stdout: Type.Optional(Text), stderr: Type.Optional(Text) })),
  cut: Type.Optional(Type.Number()),
  notes: Type.Optional(Type.Array(Text)),
});

const Texts = Type.Array(Text);
const Members = Type.Record(Type.String(), Text);

const valueSchema = Type.Union([
  Texts,
  Type.Record(Type.String(), Type.Union([Text, Texts, Members, Type.Array(Members)])),
]);

const resultSchema = Type.Union([
  Type.Object({
    node: Word,
    error: Sentence,
    kind: Type.Optional(Type.Enum(['deadline', 'garbled'])),
    reference: Type.Optional(Sentence),
    output: Type.Optional(outputSchema),
  }),
  Type.Object({ node: Word, output: outputSchema }),
  Type.Object({ node: Word, value: valueSchema }),
]);

const address = Type.String({ pattern: '^[0-9A-Fa-f:.]{2,45}$' });
const state = Type.String({ pattern: '^[\\w-]{1,32}$' });

/** The effects that work elsewhere may have; which of them, its command says. */
const effectSchema = Type.Union([
  Type.Object({ kind: Type.Literal('status'), status: state }),
  Type.Object({ kind: Type.Literal('power'), power: state }),
  Type.Object({
    kind: Type.Literal('sighting'),
    status: Type.String({ pattern: '^[\\w-]{0,32}$' }),
    applications: Type.String({ maxLength: 4096 }),
  }),
  Type.Object({ kind: Type.Literal('update'), state: Type.Enum(['syncing', 'synced', 'failed']) }),
  Type.Object({ kind: Type.Literal('moved'), from: address, to: address }),
  Type.Object({ kind: Type.Literal('certificate'), fingerprint: Type.String({ pattern: '^[0-9A-Fa-f:]{32,128}$' }) }),
  Type.Object({
    kind: Type.Literal('host-key'),
    key: Type.String({ pattern: '^[\\w@.-]{1,64} [A-Za-z0-9+/=]{1,4096}$' }),
  }),
  Type.Object({ kind: Type.Literal('progress'), sentence: Sentence }),
]);

const reportSchema = Type.Union([
  Type.Object({ node: Word, effect: effectSchema }),
  Type.Object({ result: resultSchema }),
]);

/** From a worker to a server. */
const answerSchema = Type.Union([
  Type.Object({ is: Type.Literal('refused'), sentence: Sentence }),
  /** Asks for a go-ahead. */
  Type.Object({ is: Type.Literal('begin'), question: Type.Integer(), nodes: Type.Array(Word, { maxItems: 4096 }) }),
  Type.Object({ is: Type.Literal('reports'), reports: Type.Array(reportSchema) }),
  Type.Object({ is: Type.Literal('output'), node: Word, stream: Type.Enum(['stdout', 'stderr']), piece: Text }),
  Type.Object({ is: Type.Literal('file'), question: Type.Integer(), asked: Type.Unknown() }),
  Type.Object({ is: Type.Literal('done') }),
]);
type CheckedAnswer = Static<typeof answerSchema>;

/** What work on a node has brought about, or its result, in the order in which they came. */
export type Report = { readonly node: string; readonly effect: Effect } | { readonly result: NodeResult<unknown> };

export type Answer =
  | Exclude<CheckedAnswer, { is: 'reports' }>
  | { readonly is: 'reports'; readonly reports: readonly Report[] };

export const encoded = (message: unknown): Uint8Array => Buffer.from(JSON.stringify(message));

/** Reads messages of a schema; undefined: what came is none. */
export function messageReader<S extends TSchema, T = Static<S>>(
  schema: S,
  largest: number,
): (data: Uint8Array) => T | undefined {
  const check = schemaCheck<TSchema>(schema);
  return (data) => {
    // Before it is parsed, which takes many times its size.
    if (data.length > largest) return undefined;
    try {
      const message: unknown = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString());
      return check.is(message) ? (message as T) : undefined;
    } catch {
      return undefined;
    }
  };
}

export const readPresence = messageReader(presenceSchema, largestNotice);
export const readServerPresence = messageReader(serverSchema, largestNotice);
export const readNotice = messageReader(noticeSchema, 32 * 1024);
export const readOrder = messageReader<typeof orderSchema, Order>(orderSchema, largestJob);
export const readAnswer = messageReader<typeof answerSchema, Answer>(answerSchema, largestReport);
