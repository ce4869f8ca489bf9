import * as fc from 'fast-check';
import type { Endpoint } from '../../../src/rest/endpoints/endpoint.ts';
import { type Known, someNodes } from './pieces.ts';
import type { Content, Request } from './request.ts';

/** A query, and what it says of the rest of the request. */
type Own = Pick<Request, 'query' | 'mentions'> & Partial<Pick<Content, 'lines' | 'needs'>>;

const moment = fc.constantFrom('CHANGE0', 'CHANGE1', 'CHANGE2', 'CHANGE3');

/** What a row asks in its query: of the journal what is of the account's time, of definitions now and then how they were. */
export function ownQuery(row: Endpoint, known: Known): fc.Arbitrary<Own> {
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
  if (row.path === '/events') return eventsQuery(known);
  if (row.path === '/sd')
    return fc.option(someNodes(known)).map((nodes) => ({
      query: nodes ? { noderange: nodes.text } : {},
      mentions: nodes?.mentions ?? [],
    }));
  if (row.path === '/runs')
    return fc
      .constantFrom({}, { user: 'root' }, { user: 'op' }, { state: 'finished' }, { command: 'makehosts' })
      .map((query) => ({ query, mentions: [] }));
  if (!Object.hasOwn(parameters, 'at')) return fc.constant({ query: example.query ?? {}, mentions: [] });
  const asked = fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: moment, weight: 1 });
  return asked.map((at) => ({ query: { ...example.query, ...(at !== undefined && { at }) }, mentions: [] }));
}

/** What has happened in the account's time, without waiting for more. */
const eventsQuery = (known: Known): fc.Arbitrary<Own> =>
  fc
    .record({
      kinds: fc.constantFrom(undefined, 'change', 'status,power', 'run'),
      nodes: fc.option(someNodes(known), { nil: undefined, freq: 3 }),
    })
    .map(({ kinds, nodes }) => ({
      query: {
        after: 'EVENT',
        seconds: '0',
        ...(kinds !== undefined && { kinds }),
        ...(nodes && { noderange: nodes.text }),
      },
      mentions: nodes?.mentions ?? [],
      lines: [{ line: kinds === undefined ? '' : `-k ${kinds}` }],
      needs: nodes ? [{ kind: 'nodes', names: nodes.text.split(',') }] : [{ kind: 'part' }],
    }));
