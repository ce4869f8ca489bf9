import { chdef, lsdef } from '../../commands/index.ts';
import { Fault } from '../../core/errors.ts';
import { siteObject } from '../../objects/definitions.ts';
import { definitionBody, modeOf } from '../definition-body.ts';
import { anyMembers, endpoint, type Endpoint, type Input } from '../endpoint.ts';
import { atMoment, splitList } from './definitions.ts';

const site = { type: 'site', names: siteObject } as const;
const named = ({ params }: Input): string[] => splitList(params['attributes']!);
const cleared = (input: Input): Record<string, string> => Object.fromEntries(named(input).map((name) => [name, '']));

export const globalconf: Endpoint[] = [
  endpoint('GET /globalconf', {
    command: lsdef,
    reply: 'attributes',
    query: atMoment,
    args: () => ({ type: 'site' }),
    summary: 'All attributes of the site.',
    example: { reply: { [siteObject]: { domain: 'cluster.example', master: '10.1.0.250' } } },
  }),
  endpoint('GET /globalconf/attrs/{attributes}', {
    command: lsdef,
    reply: 'attributes',
    query: atMoment,
    args: (input) => ({ type: 'site', attributes: named(input) }),
    summary: 'The named attributes of the site; unset ones are left out.',
    example: { path: '/globalconf/attrs/domain', reply: { [siteObject]: { domain: 'cluster.example' } } },
  }),
  endpoint('PUT /globalconf/attrs/{attributes}', {
    command: chdef,
    body: anyMembers('attribute: value'),
    args(input) {
      const { attributes, options } = definitionBody(input.body);
      if (input.root.comparesPathWithBody) {
        const absent = named(input).filter((name) => attributes[name] === undefined);
        if (absent.length > 0)
          throw new Fault('invalid', `The path names ${absent.join(', ')}, but the body does not say what to set.`);
      }
      return { ...site, attributes, mode: modeOf(options) } as const;
    },
    summary: 'Change or add attributes of the site; the body decides which.',
    example: { path: '/globalconf/attrs/domain', body: { domain: 'cluster.example' } },
  }),
  endpoint('DELETE /globalconf/attrs/{attributes}', {
    command: chdef,
    args: (input) => ({ ...site, attributes: cleared(input) }),
    summary: 'Remove attributes of the site.',
    example: { path: '/globalconf/attrs/domain' },
  }),
];
