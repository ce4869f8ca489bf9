import type { ReplyShape } from '../endpoint.ts';

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const row = { type: ['object', 'null'], additionalProperties: text };
const count = { type: 'integer', minimum: 0 };

interface Reply {
  /** Its key among the components of the OpenAPI document. */
  readonly key: string;
  readonly description: string;
  readonly schema: object;
}

/** The bodies of successful replies by shape; `none` has no body. */
export const replies: Readonly<Record<Exclude<ReplyShape, 'none'>, Reply>> = {
  attributes: {
    key: 'Attributes',
    description: 'Objects by name, each with its attributes; values are strings, with ver=1.0 also arrays of strings.',
    schema: {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { anyOf: [text, texts] } },
    },
  },
  list: { key: 'List', description: 'An array of strings: names, or what was done, in lines.', schema: texts },
  lines: {
    key: 'Lines',
    description: 'Nodes by name, each with an array of lines.',
    schema: { type: 'object', additionalProperties: texts },
  },
  object: { key: 'Object', description: 'An object as the example shows.', schema: { type: 'object' } },
  objects: {
    key: 'Objects',
    description: 'An array of objects as the example shows.',
    schema: { type: 'array', items: { type: 'object', additionalProperties: text } },
  },
};

export const errorReply: Reply = {
  key: 'Error',
  description: 'Why nothing was done, in sentences, and a number for the kind of error.',
  schema: {
    type: 'object',
    properties: { error: { ...texts, minItems: 1 }, errorcode: { type: 'integer' } },
    required: ['error', 'errorcode'],
    additionalProperties: false,
  },
};

export const dryRunReply: Reply = {
  key: 'DryRun',
  description: 'The rows a change would write, before and after; null where there is no row. Secrets are not shown.',
  schema: {
    type: 'object',
    properties: {
      changes: {
        type: 'array',
        items: {
          type: 'object',
          properties: { table: text, key: { type: 'object', additionalProperties: text }, before: row, after: row },
          required: ['table', 'key', 'before', 'after'],
        },
      },
      nodes: { ...count, description: 'How many objects the path names.' },
    },
    required: ['changes', 'nodes'],
  },
};

/** One line of an NDJSON reply. */
export const streamLine: Reply = {
  key: 'StreamLine',
  description:
    'One line: the value or the error of a node, a value or an error that belongs to no node, how far long work is and what it said, or, as the last line, the summary.',
  schema: {
    anyOf: [
      { type: 'object', properties: { node: text, value: {} }, required: ['value'] },
      { type: 'object', properties: { node: text, error: text }, required: ['node', 'error'] },
      errorReply.schema,
      {
        type: 'object',
        properties: {
          progress: {
            type: 'object',
            properties: { done: { type: 'number' }, of: { type: 'number' }, line: text },
            required: ['done', 'of', 'line'],
          },
        },
        required: ['progress'],
      },
      {
        type: 'object',
        properties: {
          summary: {
            type: 'object',
            properties: { nodes: count, ok: count, failed: count, errorcode: { type: 'integer' } },
            required: ['nodes', 'ok', 'failed', 'errorcode'],
          },
        },
        required: ['summary'],
      },
    ],
  },
};

export const examples = {
  error: { error: ['Invalid nodes and/or groups in noderange: n9'], errorcode: 1 },
  dryRun: {
    changes: [
      {
        table: 'nodehm',
        key: { node: 'n1' },
        before: { node: 'n1', mgt: 'ipmi' },
        after: { node: 'n1', mgt: 'openbmc' },
      },
    ],
    nodes: 1,
  },
  stream: [
    { node: 'n1', value: { mgt: 'ipmi' } },
    { node: 'n2', value: { mgt: 'ipmi' } },
    { summary: { nodes: 2, ok: 2, failed: 0, errorcode: 0 } },
  ],
  work: [
    { progress: { done: 40, of: 100, line: 'Copying the medium' } },
    { progress: { done: 100, of: 100, line: 'Done' } },
    { summary: { nodes: 1, ok: 1, failed: 0, errorcode: 0 } },
  ],
  workFails: { error: ['The medium is not known.'], errorcode: 1 },
} as const;
