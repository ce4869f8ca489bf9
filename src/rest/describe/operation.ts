import { worksOutside } from '../../commands/command.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { PublicPath } from './public-paths.ts';
import type { Root } from '../endpoints/roots.ts';
import { attributesKey, definitionKey } from './attribute-schemas.ts';
import { statusesAt } from './errors.ts';
import { commonParameters, pathParameters, type responseHeaders } from './parameters.ts';
import {
  canDryRun,
  canRespondAsync,
  carriesAccount,
  dryRunOnNodesReply,
  dryRunReply,
  exampleParameters,
  examples,
  groupOf,
  operationId,
  replies,
  requiresMembers,
  streamLine,
} from './rows.ts';

type HeaderName = keyof typeof responseHeaders;

const ref = (kind: string, key: string) => ({ $ref: `#/components/${kind}/${key}` });
export const headerRefs = (...names: HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, ref('headers', name)]));

/** What a dry run of the row answers. */
const dryRunOf = ({ command }: Endpoint) =>
  worksOutside(command)
    ? { ...dryRunOnNodesReply, example: examples.dryRunOnNodes }
    : { ...dryRunReply, example: examples.dryRun };

function dryRunContent(endpoint: Endpoint) {
  const { key, example } = dryRunOf(endpoint);
  return { 'application/json': { schema: ref('schemas', key), example } };
}

/** What the OpenAPI document says of a row. */
export function operation(root: Root, endpoint: Endpoint): object {
  const { summary, description, command } = endpoint;
  return {
    operationId: operationId(endpoint),
    tags: [groupOf(endpoint)],
    summary,
    ...(description === undefined ? {} : { description }),
    'x-command': command.name,
    ...security(endpoint),
    parameters: parameters(endpoint),
    ...requestBody(endpoint),
    responses: { ...successes(endpoint), ...begun(endpoint), ...failures(root, endpoint) },
  };
}

export const publicOperation = ({
  operationId: id,
  summary,
  contentType,
  example,
  unavailable,
}: PublicPath): object => ({
  operationId: id,
  tags: ['about'],
  summary,
  security: [],
  responses: {
    200: { description: summary, content: { [contentType]: example === undefined ? {} : { example } } },
    ...(unavailable === undefined
      ? {}
      : { 503: { description: 'The service is not up.', content: { [contentType]: { example: unavailable } } } }),
  },
});

/** Only where it differs from what the document asks for everywhere. */
function security(endpoint: Endpoint): object {
  if (endpoint.needsToken) return { security: [{ token: [] }, ...(endpoint.session ? [{ session: [] }] : [])] };
  if (carriesAccount(endpoint)) return { security: [{}, { token: [] }, { userName: [], userPW: [] }] };
  return {};
}

function parameters(endpoint: Endpoint): object[] {
  const inPath = [...exampleParameters(endpoint)].map(([name, example]) => ({
    name,
    in: 'path',
    required: true,
    description: pathParameters[name] ?? name,
    schema: { type: 'string', minLength: 1 },
    example,
  }));
  const own = Object.entries(endpoint.query ?? {}).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
    ...(endpoint.example.query?.[name] === undefined ? {} : { example: endpoint.example.query[name] }),
  }));
  const common = commonParameters
    .filter(({ takenBy }) => takenBy === undefined || takenBy(endpoint))
    .map(({ key }) => ref('parameters', key));
  return [...inPath, ...own, ...common];
}

function requestBody(endpoint: Endpoint): object {
  const { body, example, defines } = endpoint;
  if (body === undefined) return {};
  const content = {
    'application/json': {
      schema: defines === undefined ? body : ref('schemas', definitionKey(defines)),
      ...(example.body === undefined ? {} : { example: example.body }),
    },
  };
  return { requestBody: { required: requiresMembers(endpoint), content } };
}

function successes(endpoint: Endpoint): Record<number, object> {
  const { method, reply, returns, example, defines } = endpoint;
  const headers = headerRefs('X-Request-Id', 'X-Muster-Run', 'X-Muster-Revision', 'X-Muster-Age', 'X-Muster-Server');
  const dryRun = canDryRun(endpoint);
  const withDryRun = `With dryRun=1: ${dryRunOf(endpoint).description}`;
  if (method === 'GET') {
    const unchanged = {
      description: 'Nothing has changed since the reply with this ETag.',
      headers: headerRefs('ETag'),
    };
    return { 200: { ...success(), headers: { ...headers, ...headerRefs('ETag') } }, 304: unchanged };
  }
  if (method !== 'POST') return { 200: { ...success(), headers } };
  const tried = { description: withDryRun, headers, content: dryRunContent(endpoint) };
  return { 201: { ...success(), headers }, ...(dryRun ? { 200: tried } : {}) };

  function success(): { description: string; content?: object } {
    if (reply === 'none') {
      if (!dryRun || method === 'POST') return { description: 'Done; the reply has no body.' };
      const description = `Done; the reply has no body. ${withDryRun}`;
      return { description, content: dryRunContent(endpoint) };
    }
    const { key, description: usual, media } = replies[reply];
    if (media !== undefined)
      return { description: usual, content: { [media]: { schema: ref('schemas', key), example: example.reply } } };
    const body = returns ?? ref('schemas', defines === undefined ? key : attributesKey(defines));
    // Of a POST the reply to a dry run has a status of its own. Of a reading it is described in words only: clients that are generated
    // from the document need not distinguish two replies where hardly anybody asks for a dry run.
    const orTried = dryRun && method !== 'POST' && method !== 'GET';
    const description = dryRun && method !== 'POST' ? `${usual} ${withDryRun}` : usual;
    return {
      description,
      content: {
        'application/json': {
          schema: orTried ? { anyOf: [body, ref('schemas', dryRunOf(endpoint).key)] } : body,
          ...(example.reply === undefined ? {} : { example: example.reply }),
        },
        'application/x-ndjson': { schema: ref('schemas', streamLine.key) },
      },
    };
  }
}

const begun = (endpoint: Endpoint): Record<number, object> =>
  canRespondAsync(endpoint)
    ? {
        202: {
          description: 'With Prefer: respond-async: the work has begun; GET the run to see how it goes on. No body.',
          headers: headerRefs('Location', 'Preference-Applied', 'X-Request-Id', 'X-Muster-Run', 'X-Muster-Revision'),
        },
      }
    : {};

const failures = (root: Root, endpoint: Endpoint): Record<string, object> =>
  Object.fromEntries(statusesAt(root, endpoint).map((status) => [status, ref('responses', `Status${status}`)]));
