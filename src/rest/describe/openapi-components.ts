import type { Root } from '../roots.ts';
import { errorsAt, statusesAt } from './errors.ts';
import { headerRefs } from './operation.ts';
import { commonParameters, responseHeaders } from './parameters.ts';
import { dryRunReply, errorReply, replies, streamLine } from './reply-schemas.ts';

/** The parts of the OpenAPI document that its operations refer to. */
export const components = (root: Root): object => ({
  securitySchemes: {
    token: {
      type: 'apiKey',
      in: 'header',
      name: 'X-Auth-Token',
      description: 'From POST /tokens; replaces the account.',
    },
    userName: { type: 'apiKey', in: 'query', name: 'userName', description: 'The account; goes with userPW.' },
    userPW: { type: 'apiKey', in: 'query', name: 'userPW', description: 'The password of the account.' },
  },
  parameters: Object.fromEntries(
    commonParameters.map(({ key, name, in: place, schema, example, description }) => [
      key,
      { name, in: place, required: false, schema, example, description },
    ]),
  ),
  headers: responseHeaders,
  schemas: Object.fromEntries(
    [...Object.values(replies), dryRunReply, streamLine, errorReply].map(({ key, description, schema }) => [
      key,
      { description, ...schema },
    ]),
  ),
  responses: Object.fromEntries(statusesAt(root).map((status) => [`Status${status}`, failure(root, status)])),
});

function failure(root: Root, status: number): object {
  const errors = errorsAt(root).filter((error) => error.status === status);
  return {
    description: errors.map(({ when, code }) => `${when} (errorcode ${code})`).join('\n\n'),
    headers: {
      ...headerRefs('X-Request-Id'),
      ...(status === 405 ? headerRefs('Allow') : {}),
      ...(status === 503 ? headerRefs('Retry-After') : {}),
    },
    content: {
      'application/json': {
        schema: { $ref: `#/components/schemas/${errorReply.key}` },
        example: { error: [errors[0]!.when], errorcode: errors[0]!.code },
      },
    },
  };
}
