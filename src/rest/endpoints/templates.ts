import { Type } from 'typebox';
import { lstemplate } from '../../commands/lstemplate.ts';
import { Fault } from '../../core/errors.ts';
import { withoutSecrets } from '../../objects/secret-names.ts';
import { definitionBody } from '../definition-body.ts';
import { type Endpoint, endpoint, type Input } from '../endpoint.ts';

function templateName({ body }: Input): string {
  const { template } = definitionBody(body).options;
  if (!template)
    throw new Fault(
      'missing-member',
      'Name the template in the body: {"options":{"--template":"NAME"}}; GET /templates/node/all lists them.',
    );
  return template;
}

export const templates: Endpoint[] = [
  endpoint({
    method: 'GET',
    path: '/templates/node',
    command: lstemplate,
    reply: 'attributes',
    body: Type.Object({ options: Type.Object({ '--template': Type.String() }) }),
    args: (input) => ({ template: templateName(input) }),
    line: (input) => ['--template', withoutSecrets(templateName(input))],
    summary: 'The attributes a template gives to new nodes.',
    example: {
      path: '/templates/node',
      body: { options: { '--template': 'switch-template' } },
      reply: { 'switch-template': { groups: 'all,switch', ip: 'MANDATORY:The address of the switch', mgt: 'switch' } },
    },
  }),
  endpoint({
    method: 'GET',
    path: '/templates/node/all',
    command: lstemplate,
    reply: 'list',
    args: () => ({ template: undefined }),
    line: () => ['--template', '-a'],
    summary: 'Names of the templates for nodes.',
    example: { path: '/templates/node/all', reply: ['pdu-template', 'switch-template'] },
  }),
];
