import { type Static, Type } from 'typebox';
import { faultSchema, latestTime, messageReader } from '../../bus/index.ts';

/** Bytes of a file that travel in one answer. */
export const pieceSize = 1 << 20;
/** Bytes of the longest question: a report with its path. */
const longestQuestion = 256 * 1024;
const longestAnswer = 16 * 1024 * 1024;

const Whole = Type.Integer({ minimum: 0 });
const Word = Type.String({ maxLength: 255 });
const hash = Type.String({ pattern: '^[0-9a-f]{64}$' });
const protocols = Type.Enum(['http', 'tftp']);
const segments = Type.Array(Type.String({ maxLength: 2_048 }), { maxItems: 256 });
/** Who asks the worker, and where. */
const client = Type.Object({ address: Word, server: Word, httpPort: Whole, protocol: protocols });

/** What a worker asks a server for machines that boot from it. */
const questionSchema = Type.Union([
  Type.Object({ is: Type.Literal('find'), question: Whole, segments, client }),
  Type.Object({
    is: Type.Literal('take'),
    question: Whole,
    segments,
    client,
    body: Type.String({ maxLength: 65_536 }),
  }),
  Type.Object({ is: Type.Literal('piece'), question: Whole, hash, piece: Whole }),
  /** What became of an answer; nobody answers that. */
  Type.Object({
    is: Type.Literal('fetched'),
    served: Whole,
    /** Milliseconds. */
    at: Type.Number({ minimum: 0, maximum: latestTime }),
    source: protocols,
    bytes: Type.Optional(Whole),
    complete: Type.Optional(Type.Boolean()),
  }),
]);
export type BootQuestion = Static<typeof questionSchema>;
export const readBootQuestion = messageReader(questionSchema, longestQuestion);

const steps = Type.Enum([
  'loader',
  'script',
  'kernel',
  'initrd',
  'root',
  'answer',
  'bundle',
  'plan',
  'overlay',
  'file',
]);

/** `served` numbers what was found, for what is said of it later. */
const found = Type.Union([
  Type.Object({ served: Whole, step: steps, text: Type.String() }),
  Type.Object({ served: Whole, step: steps, bytes: Type.String({ description: 'in base64' }) }),
  Type.Object({ served: Whole, step: steps, hash, size: Whole }),
]);

/** What the server answers; `nothing`: there is nothing at that path. */
const answerSchema = Type.Union([
  Type.Object({ is: Type.Literal('found'), question: Whole, found }),
  Type.Object({ is: Type.Literal('taken'), question: Whole, text: Type.String() }),
  Type.Object({ is: Type.Literal('piece'), question: Whole, bytes: Type.String() }),
  Type.Object({ is: Type.Literal('nothing'), question: Whole }),
  Type.Object({
    is: Type.Literal('fault'),
    question: Whole,
    fault: faultSchema,
  }),
]);
export type BootAnswer = Static<typeof answerSchema>;
export const readBootAnswer = messageReader(answerSchema, longestAnswer);
