import * as fc from 'fast-check';
import type { Endpoint } from '../../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../../src/rest/endpoints/index.ts';
import { contentOf } from './contents.ts';
import { type Known, segmentOf } from './pieces.ts';
import type { Need } from './refusals.ts';
import { ownQuery } from './queries.ts';
import { type Content, curlText, fill, type Request } from './request.ts';
import { tableRequest } from './table-requests.ts';
import { variants } from './variants.ts';

function rowRequest(row: Endpoint, known: Known): fc.Arbitrary<Pick<Request, 'path'> & Content> {
  const byRows = row.path.includes('{keys}') || (row.method === 'PUT' && !row.path.endsWith('/dump'));
  if (row.path.startsWith('/tables/') && byRows) return tableRequest(row, known);
  const wanted = [...row.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
  return fc.tuple(...wanted.map((name) => segmentOf(name, known))).chain((pieces) => {
    const texts = Object.fromEntries(wanted.map((name, i) => [name, pieces[i]!.text]));
    const named = row.range === undefined ? '' : (texts[row.range] ?? '');
    return contentOf(row, named, known).map((content) => ({
      ...content,
      path: fill(row.path, texts),
      mentions: [...content.mentions, ...pieces.flatMap(({ mentions }) => mentions)],
      needs: content.needs && [...content.needs, ...nodesOf(row, named)],
    }));
  });
}

const nodesOf = ({ range }: Endpoint, named: string): readonly Need[] =>
  range === 'noderange' ? [{ kind: 'nodes', names: named.split(',') }] : [];

/** A request that is written down: of rows with variants the one with this body. */
export function requestAt(at: string, named: string, given?: object): Request {
  const row = endpoints.find(({ method, path }) => `${method} ${path}` === at)!;
  const same = (body: unknown): boolean => JSON.stringify(body) === JSON.stringify(given);
  const variant = variants[at]?.find(({ body }) => same(body));
  const { line = '', mentions = [], needs } = variant ?? {};
  return readable({
    row,
    root: '/muster',
    path: row.path.replace(/\{\w+\}/, named),
    query: {},
    headers: {},
    ...(given && { body: given }),
    mentions: [...mentions, named],
    lines: [{ line, ...(variant?.command !== undefined && { command: variant.command }) }],
    ...(variant && { needs: [...(needs?.(named.split(',')) ?? []), ...nodesOf(row, named)] }),
  });
}

/** In what failed, requests are shown as they could be repeated. */
const readable = (request: Request): Request =>
  Object.defineProperty(request, fc.toStringMethod, { value: () => curlText(request) });

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

/** Rows that revoke or make tokens are about nobody else's, and counts of everything are tried by test/events. */
const triedRows = endpoints.filter(
  ({ path, method }) => (!/^\/(tokens|session)/.test(path) || method === 'GET') && path !== '/metrics',
);
const favoured = /^\/(nodes|groups|tables)(\/\{\w+\}(\/(rows|nodes)\/\{\w+\})?)?$/;
const favouredCommands = ['xdsh', 'rmigrate', 'clonevm', 'rscan', 'nodeset', 'events'];

/** Those that get beyond the first look at the policy. */
const rowsFor = ({ mayRun }: Known): readonly Endpoint[] => {
  const possible = triedRows.filter(({ command }) => mayRun(command.name));
  return possible.length === 0 ? triedRows : possible;
};

/** Of these again what reads and changes definitions most, and what speaks to machines or of them. */
function favouredRows(known: Known): readonly Endpoint[] {
  const possible = rowsFor(known);
  const favourites = possible.filter(
    ({ path, command }) => favoured.test(path) || favouredCommands.includes(command.name),
  );
  return favourites.length === 0 ? possible : favourites;
}

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
          ...own,
          query: { ...own.query, ...query },
          mentions: [...parts.mentions, ...own.mentions],
        }))
        .map(readable),
    );
