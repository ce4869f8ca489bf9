import { type Static, Type } from 'typebox';
import { type ErrorKind, errorKinds } from '../core/errors.ts';
import { messageReader } from './messages.ts';

/** Bytes of the largest message about consoles, and of the characters in one. */
const largestMessage = 1024 * 1024;
export const mostCharacters = 96 * 1024;
const mostReports = 32_768;

/** Of a console, among those that travel over one channel. */
const id = Type.Integer({ minimum: 0 });
/** Characters, as base64. */
const bytes = Type.String({ pattern: '^[A-Za-z0-9+/]*=*$', maxLength: (mostCharacters / 3) * 4 + 4 });
/** What people are shown: no control characters. */
const sentence = Type.String({ maxLength: 600, pattern: '^[^\\x00-\\x1f\\x7f-\\x9f]*$' });

/** Why something failed. */
const failure = Type.Object({
  kind: Type.Enum(Object.keys(errorKinds) as ErrorKind[]),
  sentences: Type.Array(sentence, { minItems: 1, maxItems: 8 }),
  /** The machine does not answer. */
  unreachable: Type.Boolean(),
});
export type ConsoleFailure = Static<typeof failure>;

/** From a server to a worker. */
const orderSchema = Type.Union([
  Type.Object({
    is: Type.Literal('open'),
    id,
    node: Type.String(),
    /** As the driver has made it; with open secrets. */
    target: Type.Object({
      driver: Type.String(),
      device: Type.String(),
      address: Type.String(),
      width: Type.Number(),
      access: Type.Unknown(),
    }),
    takeOver: Type.Boolean(),
    /** The session of one that was lost. */
    lost: Type.Optional(Type.Integer()),
  }),
  Type.Object({ is: Type.Literal('write'), id, number: id, bytes }),
  Type.Object({ is: Type.Literal('break'), id, number: id }),
  Type.Object({ is: Type.Literal('close'), id }),
]);
export type ConsoleOrder = Static<typeof orderSchema>;

const reportSchema = Type.Union([
  Type.Object({ is: Type.Literal('opened'), id, way: sentence, session: Type.Optional(Type.Integer()) }),
  /** What the machine printed; so many bytes after it were left out. */
  Type.Object({ is: Type.Literal('output'), id, bytes, cut: Type.Optional(Type.Integer({ minimum: 1 })) }),
  /** What the order with that number asked for is done, or why not. */
  Type.Object({ is: Type.Literal('done'), id, number: id, failure: Type.Optional(failure) }),
  /** It is not open, or no longer: nothing comes after it. */
  Type.Object({ is: Type.Literal('closed'), id, failure: Type.Optional(failure) }),
  /** The BMC has shown its first certificate, or the first key of its SSH server. */
  Type.Object({
    is: Type.Literal('learned'),
    id,
    certificate: Type.Optional(Type.String({ pattern: '^[0-9A-Fa-f:]{32,128}$' })),
    hostKey: Type.Optional(Type.String({ pattern: '^[\\w@.-]{1,64} [A-Za-z0-9+/=]{1,4096}$' })),
  }),
]);
export type ConsoleReport = Static<typeof reportSchema>;

const reportsSchema = Type.Object({ reports: Type.Array(reportSchema, { maxItems: mostReports }) });

export const readConsoleOrder = messageReader(orderSchema, largestMessage);
/** From a worker to a server. */
export const readConsoleReports = messageReader(reportsSchema, largestMessage);
