import { Type } from 'typebox';
import { chdef, chdefs, lsdef, lstypes, mkdefs, rmdefs } from '../../commands/index.ts';
import type { Definition } from '../../objects/definition-set.ts';
import { valueText } from './definition-body.ts';
import { anyMembers, endpoint, type Endpoint, type Input, members } from './endpoint.ts';
import { allResources, isSet, splitList } from './definitions.ts';

const texts = Type.Array(Type.String());
const names = Type.String({ description: 'a node range, or names joined by commas' });
const one = {
  type: Type.String({ description: 'the type of the objects, such as node; GET /definitions lists them' }),
  names,
};
const definitions = Type.Array(members({ ...one, attributes: anyMembers('attribute: value') }), {
  description: 'each for objects of one type that are written alike',
});
const since = Type.Optional(
  Type.Integer({
    minimum: 0,
    description:
      'the revision in X-Muster-Revision when they were read: if one of the objects was changed since, they are named and nothing is done; if members of a group are given, so is a group that others joined or left',
  }),
);
const fate = (description: string, ...values: string[]) => Type.Optional(Type.Enum(values, { description }));

interface Given {
  readonly type: string;
  readonly names: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

const definitionsOf = ({ body }: Input): Definition[] =>
  (body['definitions'] as readonly Given[]).map(({ type, names: named, attributes }) => ({
    type,
    names: named,
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, valueText(name, value)] as const),
    ),
  }));

const listing = {
  hidden: '1: hidden nodes too.',
  skip: 'missing: names that nothing has are passed over.',
  scripts: 'own: without the scripts that run on every node, for those who write back what they read.',
  values: 'own: of nodes only what is stored at them, nothing that comes from groups, and patterns as they are stored.',
};

function readingOf({ params, query }: Input) {
  return {
    type: params['objtype']!,
    ...(params['names'] === undefined || params['names'] === allResources ? {} : { names: params['names'] }),
    hiddenNodes: isSet('hidden', query['hidden'], '1'),
    skipMissing: isSet('skip', query['skip'], 'missing'),
    ownScripts: isSet('scripts', query['scripts'], 'own'),
    ownValues: isSet('values', query['values'], 'own'),
  };
}

const example = { n1: { groups: 'all,compute', mgt: 'ipmi' } };
const setBody = {
  definitions: [
    { type: 'node', names: 'n11-n13', attributes: { groups: 'all,compute' } },
    { type: 'network', names: 'storage', attributes: { net: '10.3.0.0', mask: '255.255.0.0' } },
  ],
};

/** Definitions of any types, as the command line reads and writes them. */
export const definitionSets: Endpoint[] = [
  endpoint('GET /definitions', {
    command: lstypes,
    reply: 'list',
    summary: 'The types of objects.',
    example: { reply: ['group', 'network', 'node', 'osimage', 'policy', 'site'] },
    only: '/muster',
  }),
  endpoint('GET /definitions/{objtype}', {
    command: lsdef,
    reply: 'list',
    query: { hidden: listing.hidden },
    args: (input) => ({ ...readingOf(input), short: true }),
    summary: 'Names of all objects of a type.',
    example: { path: '/definitions/node', reply: ['n1'] },
    only: '/muster',
  }),
  endpoint('GET /definitions/{objtype}/{names}', {
    command: lsdef,
    reply: 'attributes',
    query: listing,
    args: readingOf,
    range: 'names',
    summary: 'All attributes of objects of any type; ALLRESOURCES names them all.',
    example: { path: '/definitions/node/n1', reply: example },
    only: '/muster',
  }),
  endpoint('GET /definitions/{objtype}/{names}/attrs/{attributes}', {
    command: lsdef,
    reply: 'attributes',
    query: { hidden: listing.hidden, skip: listing.skip, scripts: listing.scripts },
    args: (input) => ({ ...readingOf(input), attributes: splitList(input.params['attributes']!) }),
    range: 'names',
    summary: 'The named attributes of objects of any type; ALLRESOURCES names them all.',
    example: { path: '/definitions/node/n1/attrs/mgt', reply: { n1: { mgt: 'ipmi' } } },
    only: '/muster',
  }),
  endpoint('PUT /definitions/{objtype}/{names}/rename', {
    command: chdef,
    body: members({ name: Type.String({ minLength: 1, description: 'the new name' }) }),
    args: ({ params, body }) => ({ type: params['objtype']!, names: params['names']!, rename: body['name'] as string }),
    range: 'names',
    summary: 'Give an object another name.',
    description:
      'The name changes in its own rows; mentions in other rows, such as the groups of nodes, stay as they are.',
    example: { path: '/definitions/network/service/rename', body: { name: 'backbone' } },
    only: '/muster',
  }),
  endpoint('POST /definitions', {
    command: mkdefs,
    body: members({
      definitions,
      template: Type.Optional(Type.String({ description: 'a template, or an existing object to begin with' })),
      fill: Type.Optional(
        Type.Boolean({
          description:
            'images get the files and directories of their profile, provmethod, osvers and osarch, as after copycds',
        }),
      ),
      existing: fate(
        'what becomes of objects that exist: the request is refused (as a rule), or they are kept as they are, or replaced',
        'refuse',
        'keep',
        'replace',
      ),
      members: fate(
        'what becomes of names among the members of groups that no node has: refuse as a rule',
        'refuse',
        'skip',
      ),
    }),
    reply: 'object',
    returns: Type.Object({ created: texts, replaced: texts, kept: texts, unknownMembers: texts }),
    args: (input) => {
      const { template, fill, existing, members: fateOfMembers } = input.body as MakeBody;
      return { definitions: definitionsOf(input), template, fill, existing, members: fateOfMembers };
    },
    summary: 'Create objects of any types in one change; the reply says what became of each.',
    example: {
      body: setBody,
      reply: { created: ['n11', 'n12', 'n13', 'storage'], replaced: [], kept: [], unknownMembers: [] },
    },
    only: '/muster',
    bulk: true,
  }),
  endpoint('PUT /definitions', {
    command: chdefs,
    body: members({
      definitions,
      mode: fate('set, or add to lists (append), or take from them (remove)', 'set', 'append', 'remove'),
      remove: Type.Optional(
        Type.Array(members(one), { description: 'objects that go in the same change, if they exist' }),
      ),
      since,
    }),
    reply: 'object',
    returns: Type.Object({ changed: texts, created: texts, removed: Type.Optional(texts), messages: texts }),
    args: (input) => {
      const { mode, remove, since: revision } = input.body as ChangeBody;
      return { set: definitionsOf(input), mode, remove, since: revision };
    },
    summary: 'Change objects of any types in one change; the reply says which were new.',
    description:
      'Objects that do not exist are made where what is given suffices. Either everything is written or nothing. Objects are removed only for those who may run rmdef too, and all that comes of the change must be allowed to both commands.',
    example: {
      body: { definitions: [{ type: 'node', names: 'n1', attributes: { rack: 'r1' } }] },
      reply: { changed: ['n1'], created: [], messages: [] },
    },
    only: '/muster',
    bulk: true,
  }),
  endpoint('DELETE /definitions', {
    command: rmdefs,
    body: members({
      definitions: Type.Array(members(one)),
      missing: fate('what becomes of names that nothing has: refuse as a rule', 'refuse', 'skip'),
      force: Type.Optional(Type.Boolean({ description: 'true: also images that nodes are set to' })),
      since,
    }),
    reply: 'object',
    returns: Type.Object({
      removed: texts,
      missing: Type.Array(Type.Object({ type: Type.String(), name: Type.String() })),
    }),
    args: ({ body }) => body as unknown as Removal,
    summary: 'Remove objects of any types in one change; the reply says what became of each.',
    example: {
      body: { definitions: [{ type: 'node', names: 'n2' }], missing: 'skip' },
      reply: { removed: ['n2'], missing: [] },
    },
    only: '/muster',
    bulk: true,
  }),
];

interface Removal {
  readonly definitions: { readonly type: string; readonly names: string }[];
  readonly missing?: 'refuse' | 'skip';
  readonly force?: boolean;
  readonly since?: number;
}

interface ChangeBody {
  readonly mode?: 'set' | 'append' | 'remove';
  readonly remove?: { readonly type: string; readonly names: string }[];
  readonly since?: number;
}

interface MakeBody {
  readonly template?: string;
  readonly fill?: boolean;
  readonly existing?: 'refuse' | 'keep' | 'replace';
  readonly members?: 'refuse' | 'skip';
}
