import { attributeSchemas } from './attribute-schemas.ts';
import { headerRefs, operation, publicOperation } from './operation.ts';
import { dryRunOnNodesReply, dryRunReply, errorReply, groupOf, replies, rowsAt, streamLine } from './rows.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { publicPathsAt } from './public-paths.ts';
import type { Root } from '../endpoints/roots.ts';
import { cookieName } from '../http/session-cookie.ts';
import { errorsAt, statusesAt } from './errors.ts';
import { commonParameters, responseHeaders } from './parameters.ts';

/** The interface at a root as an OpenAPI 3.1 document. */
export function openApiDocument(root: Root, endpoints: readonly Endpoint[], version: string): object {
  const rows = rowsAt(root, endpoints);
  const paths: Record<string, Record<string, object>> = {};
  for (const publicPath of publicPathsAt(root)) paths[publicPath.path] = { get: publicOperation(publicPath) };
  for (const row of rows) (paths[row.path] ??= {})[row.method.toLowerCase()] = operation(root, row);
  return {
    openapi: '3.1.0',
    info: {
      title: 'muster',
      version,
      summary: 'Cluster management over HTTPS.',
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: root.prefix }],
    tags: ['about', ...new Set(rows.map(groupOf))].map((name) => ({ name })),
    security: [{ token: [] }, { userName: [], userPW: [] }, ...(root.takesSessions ? [{ session: [] }] : [])],
    paths,
    components: components(root, rows),
  };
}

/** The parts of the OpenAPI document that its operations refer to. */
export const components = (root: Root, rows: readonly Endpoint[] = []): object => ({
  securitySchemes: {
    token: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Auth-Token',
      description: 'From POST /tokens; replaces the account.',
    },
    ...(root.takesSessions
      ? {
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: cookieName,
            description:
              'From POST /session, for browsers; requests that change something need the header X-CSRF-Token too.',
          },
        }
      : {}),
    userName: { type: 'apiKey', in: 'query', name: 'userName', description: 'The account; goes with userPW.' },
    userPW: { type: 'apiKey', in: 'query', name: 'userPW', description: 'The password of the account.' },
  },
  parameters: Object.fromEntries(
    commonParameters.map(({ key, name, in: location, schema, example, description }) => [
      key,
      { name, in: location, required: false, schema, example, description },
    ]),
  ),
  headers: responseHeaders,
  schemas: {
    ...attributeSchemas(rows),
    ...Object.fromEntries(
      [...Object.values(replies), dryRunReply, dryRunOnNodesReply, streamLine, errorReply].map(
        ({ key, description, schema }) => [key, { description, ...schema }],
      ),
    ),
  },
  responses: Object.fromEntries(statusesAt(root).map((status) => [`Status${status}`, failure(root, status)])),
});

function failure(root: Root, status: number): object {
  const errors = errorsAt(root).filter((error) => error.status === status);
  return {
    description: errors.map(({ when, code }) => `${when} (errorcode ${code})`).join('\n\n'),
    headers: {
      ...headerRefs('X-Request-Id'),
      ...(status === 405 ? headerRefs('Allow') : {}),
      ...(status === 503 ? headerRefs('Retry-After', 'X-Muster-Done') : {}),
    },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${errorReply.key}` },
        example: { error: [errors[0]!.when], errorcode: errors[0]!.code },
      },
    },
  };
}
