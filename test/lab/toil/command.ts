import { join } from 'node:path';
import { Type } from 'typebox';
import { long } from '../../../src/commands/long.ts';
import { Fault } from '../../../src/core/errors.ts';
import { endpoint } from '../../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../../src/rest/endpoints/index.ts';
import type { Made, Step } from './work.ts';

const steps = Type.Array(Type.Unsafe<Step>({}));

/** Long work that does what it is told, step by step: what tests of the kind need and nobody else. */
export const toil = long({
  name: 'toil',
  args: Type.Object({ name: Type.String(), steps }),
  line: ({ name }) => [name],
  subject: ({ name }) => `toil ${name}`,
  prepare(_snapshot, { name, steps: given }) {
    if (name === 'forbidden') throw new Fault('invalid', 'Toil must not be called forbidden.');
    return { steps: given };
  },
  module: join(import.meta.dirname, 'work.ts'),
  plan(draft, { profile }: Made, { name }) {
    if (profile !== undefined) draft.merge('osimage', name, { imagename: name, profile });
  },
  answer: ({ said }: Made) => ({ shape: 'list', items: said }),
});

export const toilRow = endpoint('POST /toil/{name}', {
  command: toil,
  reply: 'list',
  body: Type.Object({ steps }, { additionalProperties: false }),
  args: ({ params, body }) => ({ name: params['name']!, steps: body['steps'] as Step[] }),
  summary: 'Does steps.',
  example: { path: '/toil/a', body: { steps: [] }, reply: [] },
});

export const rowsWithToil = [...endpoints, toilRow];
