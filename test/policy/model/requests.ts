import * as fc from 'fast-check';
import { nodeTables } from '../../../src/database/tables.ts';
import type { Endpoint } from '../../../src/rest/endpoint.ts';
import { endpoints } from '../../../src/rest/endpoints/index.ts';
import { columnList, groupNameOf, keysFor, type Known, nodeNameOf, segmentOf, someNodes } from './pieces.ts';
import { type Attributes, attributesOf, mentionedIn } from './values.ts';
import { bmcOf, nodeNames } from './world.ts';

/** One call, and what the policy is asked by it. */
export interface Request {
  readonly row: Endpoint;
  readonly root: string;
  /** Below the root, encoded. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Names that the caller has written down. */
  readonly mentions: readonly string[];
  /** Argument lines, the objects each is about where they differ, and the command where it is not the row's. */
  readonly lines: readonly { readonly line: string; readonly object?: string; readonly command?: string }[];
}

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

const words = (attributes: Attributes): string[] =>
  Object.entries(attributes).map(([name, value]) => `${name}=${value}`);
const lineOf = (type: string, names: string, attributes: Attributes, options: Attributes = {}): string =>
  ['-t', type, '-o', names, ...Object.entries(options).flat(), ...words(attributes)].join(' ');

type Content = Pick<Request, 'body' | 'mentions' | 'lines'>;
const none: Content = { mentions: [], lines: [{ line: '' }] };

/** The body of a row, given the text of the segment that names objects. */
function contentOf(row: Endpoint, named: string, known: Known): fc.Arbitrary<Content> {
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

/** Rows of tables: their keys and columns belong to the table of the path. */
function tableRequest(row: Endpoint, known: Known): fc.Arbitrary<Pick<Request, 'path'> & Content> {
  if (row.path.includes('{keys}')) {
    const written = row.method === 'PUT' ? attributesOf('row') : fc.constant<Attributes>({});
    return fc.tuple(keysFor(known), columnList, written).map(([{ table, keys, mentions }, wanted, body]) => ({
      path: fill(row.path, { tablelist: table, keys, attrlist: wanted.text }),
      ...(row.method === 'PUT' && { body }),
      mentions: [...mentions, ...mentionedIn(body)],
      lines: [{ line: [table, keys, ...words(body).map((word) => `${table}.${word}`)].join(' ') }],
    }));
  }
  return fc
    .tuple(fc.constantFrom(...nodeTables), someNodes(known), attributesOf('row'))
    .map(([{ name, columns }, { text, mentions }, given]) => {
      const columnsGiven = Object.fromEntries(Object.entries(given).filter(([column]) => columns.includes(column)));
      const body = Object.keys(columnsGiven).length > 0 ? columnsGiven : { comments: 'x' };
      return {
        path: fill(row.path, { tablelist: name, noderange: text }),
        body: { [name]: body },
        mentions: [...mentions, ...mentionedIn(body)],
        lines: [
          {
            line: words(body)
              .map((word) => `${name}.${word}`)
              .join(' '),
          },
        ],
      };
    });
}

const fill = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));

function rowRequest(row: Endpoint, known: Known): fc.Arbitrary<Pick<Request, 'path'> & Content> {
  const byRows = row.path.includes('{keys}') || (row.method === 'PUT' && !row.path.endsWith('/dump'));
  if (row.path.startsWith('/tables/') && byRows) return tableRequest(row, known);
  const wanted = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return fc.tuple(...wanted.map((name) => segmentOf(name, known))).chain((pieces) => {
    const texts = Object.fromEntries(wanted.map((name, i) => [name, pieces[i]!.text]));
    return contentOf(row, row.range === undefined ? '' : texts[row.range]!, known).map((content) => ({
      ...content,
      path: fill(row.path, texts),
      mentions: [...content.mentions, ...pieces.flatMap(({ mentions }) => mentions)],
    }));
  });
}

const moment = fc.constantFrom('CHANGE0', 'CHANGE1', 'CHANGE2', 'CHANGE3');

/** What a row asks in its query: of the journal what is of the account's time, of definitions now and then how they were. */
function ownQuery(row: Endpoint, known: Known): fc.Arbitrary<Pick<Request, 'query' | 'mentions'>> {
  const { query: parameters = {}, example } = row;
  if (row.path === '/changes' || row.path === '/changes/diff') {
    const [first, last] = row.path === '/changes' ? (['since', 'until'] as const) : (['from', 'to'] as const);
    return fc
      .record({
        since: moment,
        until: fc.option(moment, { nil: undefined }),
        nodes: fc.option(someNodes(known), { nil: undefined }),
        table: fc.option(fc.constantFrom('prescripts', 'nodelist', 'policy', 'nodelist,ipmi'), {
          nil: undefined,
          freq: 3,
        }),
      })
      .map(({ since, until, nodes, table }) => ({
        mentions: nodes?.mentions ?? [],
        query: {
          [first]: since,
          ...(until !== undefined && { [last]: until }),
          ...(nodes && { noderange: nodes.text }),
          ...(table !== undefined && { table }),
        },
      }));
  }
  if (!Object.hasOwn(parameters, 'at')) return fc.constant({ query: example.query ?? {}, mentions: [] });
  const asked = fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: moment, weight: 1 });
  return asked.map((at) => ({ query: { ...example.query, ...(at !== undefined && { at }) }, mentions: [] }));
}

const queries = fc
  .record({ pretty: flag(8), debug: flag(4), xcoll: flag(8), dryRun: flag(6) })
  .map((flags) => Object.fromEntries(Object.entries(flags).flatMap(([name, on]) => (on ? [[name, '1']] : []))));
function flag(of: number): fc.Arbitrary<boolean> {
  return fc.integer({ min: 1, max: of }).map((number) => number === of);
}
const headers = fc.oneof(
  { arbitrary: fc.constant({}), weight: 8 },
  { arbitrary: fc.constant({ accept: 'application/x-ndjson' }), weight: 1 },
  { arbitrary: fc.integer({ min: 0, max: 4 }).map((count) => ({ 'x-expect-nodes': String(count) })), weight: 1 },
  { arbitrary: fc.constant({ 'if-none-match': '*' }), weight: 1 },
);

/** Tried by test/events: what is told as it happens, counts of everything, and nodes that the query names; by test/cli/runs: one's own runs. */
const elsewhere = ['/events', '/metrics', '/sd', '/runs'];
/** Rows that revoke or make tokens are about nobody else's. */
export const triedRows = endpoints.filter(
  ({ path, method }) => (!path.startsWith('/tokens') || method === 'GET') && !elsewhere.includes(path),
);
const favoured = /^\/(nodes|groups|tables)(\/\{\w+\}(\/(rows|nodes)\/\{\w+\})?)?$/;

/** Those that get beyond the first look at the policy. */
const rowsFor = ({ mayRun }: Known): readonly Endpoint[] => {
  const possible = triedRows.filter(({ command }) => mayRun(command.name));
  return possible.length === 0 ? triedRows : possible;
};

/** Of these again what reads and changes definitions most, and what speaks to machines at once. */
function favouredRows(known: Known): readonly Endpoint[] {
  const possible = rowsFor(known);
  const favourites = possible.filter(({ path, command }) => favoured.test(path) || command.name === 'xdsh');
  return favourites.length === 0 ? possible : favourites;
}

/** One that reaches a machine, if the account may. */
export const shellOn = (node: string): Request => {
  const row = triedRows.find(({ command }) => command.name === 'xdsh')!;
  const path = fill(row.path, { noderange: node });
  const request = { ...none, row, root: '/muster', path, query: {}, headers: {}, body: row.example.body };
  return { ...request, mentions: [node] };
};

export const requestsOf = (known: Known): fc.Arbitrary<Request> =>
  fc
    .oneof(
      { arbitrary: fc.constantFrom(...triedRows), weight: 2 },
      { arbitrary: fc.constantFrom(...rowsFor(known)), weight: 3 },
      { arbitrary: fc.constantFrom(...favouredRows(known)), weight: 5 },
    )
    .chain((row) =>
      fc
        .record({
          parts: rowRequest(row, known),
          own: ownQuery(row, known),
          root: fc.constantFrom('/muster', '/muster', '/xcatws'),
          query: queries,
          headers,
        })
        .map(({ parts, own, root, query, headers: sent }) => ({
          row,
          root: row.only ?? root,
          headers: sent,
          ...parts,
          query: { ...own.query, ...query },
          mentions: [...parts.mentions, ...own.mentions],
        }))
        .map((made) => Object.defineProperty(made, fc.toStringMethod, { value: () => curlText(made) })),
    );

/** The call as somebody could repeat it by hand. */
export const curlText = ({ row, root, path, query, headers: sent, body }: Request): string => {
  const parameters = new URLSearchParams(query).toString();
  const parts = Object.entries(sent).map(([name, value]) => `-H '${name}: ${value}' `);
  const data = body === undefined ? '' : `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}' `;
  return `curl -g -X ${row.method} -H "X-Auth-Token: $OP" ${parts.join('')}${data}'$HOST${root}${path}${parameters && `?${parameters}`}'`;
};
