import { expect, it } from 'vitest';
import { hintBeneath } from '../../src/rest/http/server.ts';
import { rowsAt } from '../../src/rest/describe/rows.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { musterRoot } from '../../src/rest/endpoints/roots.ts';

const paths = rowsAt(musterRoot, endpoints).map(({ path }) => path);
const hint = (url: string): string => hintBeneath(url, '/muster', paths);

it.each([
  ['/muster/tables/site', ' Below it there is /dump, /nodes, /prune, /rows.'],
  ['/muster/tables/site/?pretty=1', ' Below it there is /dump, /nodes, /prune, /rows.'],
  ['/muster/nodes/n1/attrs', ' Below it there is /{attributes}.'],
  ['/muster/node/n1', ' Did you mean "nodes"?'],
  ['/muster/nodes/n1/nosuch/more', ''],
  ['/muster/', ''],
  ['/elsewhere/tables/site', ''],
  [`/muster/${'x'.repeat(70_000)}`, ''],
  [`/muster${'/a'.repeat(30_000)}`, ''],
  ['/muster/__proto__/constructor', ''],
])('of %.60s says%s', (url, said) => {
  expect(hint(url)).toBe(said);
});
