import * as fc from 'fast-check';
import type { Endpoint } from '../../../src/rest/endpoints/endpoint.ts';
import { groupNameOf, type Known, nodeNameOf } from './pieces.ts';
import { type Content, none } from './request.ts';
import { type Attributes, attributesOf, lineOf, mentionedIn } from './values.ts';
import { variantContent, variants } from './variants.ts';
import { bmcOf, nodeNames } from './world.ts';

const typeOf: Readonly<Record<string, string>> = {
  nodes: 'node',
  groups: 'group',
  osimages: 'osimage',
  networks: 'network',
  policy: 'policy',
  globalconf: 'site',
};
const optionsBody = fc.oneof(
  { arbitrary: fc.constant<Attributes>({}), weight: 6 },
  { arbitrary: fc.constantFrom<Attributes>({ '-p': '' }, { '-m': '' }, { '-f': '' }), weight: 3 },
  {
    arbitrary: fc.constantFrom(...nodeNames, 'n199', 'gamma').map((name): Attributes => ({ '--template': name })),
    weight: 1,
  },
  { arbitrary: fc.constantFrom(...nodeNames).map((name): Attributes => ({ '--template': name, '-f': '' })), weight: 1 },
);

/** The body of a row, given the text of the segment that names objects. */
export function contentOf(row: Endpoint, named: string, known: Known): fc.Arbitrary<Content> {
  const kinds = variants[`${row.method} ${row.path}`];
  if (kinds) return variantContent(kinds, named);
  const [, collection = '', segment, tail] = row.path.split('/');
  const type = typeOf[collection];
  const writes = row.method === 'PUT' || row.method === 'POST';
  if (type !== undefined && writes && tail === undefined && row.command.name !== 'makenetworks')
    return segment === undefined ? bulkContent(type, known) : definitionContent(type, named);
  if (type === 'site' && row.method === 'PUT') return definitionContent(type, named);
  if (row.path === '/definitions' && row.method !== 'GET') return definitionSetContent(row.method, known);
  if (row.path === '/definitions/{objtype}/{names}/rename')
    return fc
      .constantFrom(...nodeNames, 'n199', 'gamma')
      .map((name) => ({ ...none, body: { name }, mentions: [name] }));
  if (row.path.endsWith('/rename'))
    return fc.constantFrom(...nodeNames, 'n199', 'n150').map((newNode) => ({
      body: { newNode },
      mentions: [newNode],
      lines: [{ line: `-t node -o ${named} -n ${newNode}` }],
    }));
  if (row.command.name === 'snmove')
    return fc
      .tuple(fc.constantFrom(...nodeNames, 'nosuch'), fc.constantFrom({}, { xcatmaster: '127.178.9.9' }))
      .map(([servicenode, address]) => ({
        body: { servicenode, ...address },
        mentions: [servicenode],
        lines: [{ line: `-d ${servicenode}` }],
      }));
  if (row.path.endsWith('/sp/{attribute}') && row.method === 'PUT')
    return fc.constantFrom(...nodeNames).map((node) => ({ ...none, body: { value: bmcOf('a', node) } }));
  if (row.path === '/templates/node')
    return fc
      .constantFrom(...nodeNames, 'n199', 'switch-template')
      .map((name) => ({ ...none, body: { options: { '--template': name } }, mentions: [name] }));
  return fc.constant(row.example.body === undefined ? none : { ...none, body: row.example.body });
}

const definitionContent = (type: string, named: string): fc.Arbitrary<Content> =>
  fc.tuple(attributesOf(type), optionsBody).map(([attributes, options]) => ({
    body: { ...attributes, ...(Object.keys(options).length > 0 && { options }) },
    mentions: [...mentionedIn(attributes), ...mentionedIn(options)],
    lines: [{ line: lineOf(type, named, attributes, options) }],
  }));

function bulkContent(type: string, known: Known): fc.Arbitrary<Content> {
  const names = { node: nodeNameOf(known), group: groupNameOf(known) }[type] ?? fc.constantFrom('img1', 'net1', '90');
  return fc.dictionary(names, attributesOf(type), { minKeys: 1, maxKeys: 3 }).map((body) => ({
    body,
    mentions: [...Object.keys(body), ...Object.values(body).flatMap(mentionedIn)],
    lines: Object.entries(body).map(([object, attributes]) => ({ object, line: lineOf(type, object, attributes) })),
  }));
}

/** Definitions of several types in one request. */
function definitionSetContent(method: Endpoint['method'], known: Known): fc.Arbitrary<Content> {
  const each = fc.constantFrom('node', 'group').chain((type) => {
    const names = type === 'node' ? nodeNameOf(known) : groupNameOf(known);
    const attributes = method === 'DELETE' ? fc.constant<Attributes>({}) : attributesOf(type);
    return fc.tuple(names, attributes).map(([object, given]) => ({ type, object, given }));
  });
  const options: Readonly<Record<string, fc.Arbitrary<readonly [Attributes, Attributes]>>> = {
    POST: fc.constantFrom<[Attributes, Attributes]>(
      [{}, {}],
      [{ existing: 'keep', members: 'skip' }, {}],
      [{ existing: 'replace' }, { '-f': '' }],
    ),
    PUT: fc.constantFrom<[Attributes, Attributes]>(
      [{}, {}],
      [{ mode: 'append' }, { '-p': '' }],
      [{ mode: 'remove' }, { '-m': '' }],
    ),
    DELETE: fc.constantFrom<[Attributes, Attributes]>([{}, {}], [{ missing: 'skip' }, {}]),
  };
  const some = fc.array(each, { minLength: 1, maxLength: 2 });
  const removed = method === 'PUT' ? fc.oneof(fc.constant([]), some) : fc.constant([]);
  return fc.tuple(some, removed, options[method]!).map(([set, gone, [members, flags]]) => ({
    body: {
      definitions: set.map(({ type, object, given }) => ({
        type,
        names: object,
        ...(method === 'DELETE' ? {} : { attributes: given }),
      })),
      ...(gone.length > 0 && { remove: gone.map(({ type, object }) => ({ type, names: object })) }),
      ...members,
    },
    mentions: [...set, ...gone].flatMap(({ object, given }) => [object, ...mentionedIn(given)]),
    lines: [
      ...set.map(({ type, object, given }) => ({ object, line: lineOf(type, object, given, flags) })),
      ...gone.map(({ type, object }) => ({ object, line: lineOf(type, object, {}), command: 'rmdef' })),
    ],
  }));
}
