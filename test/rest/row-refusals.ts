import { expect } from 'vitest';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { roots } from '../../src/rest/endpoints/roots.ts';
import type { CallOptions, Reply } from '../harness/client.ts';
import { errorOf } from '../harness/errors.ts';
import type { TestServer } from '../harness/server.ts';

/** A row as it is offered at a root. */
export interface Offer {
  readonly root: string;
  readonly row: Endpoint;
}

const rowsAt = (root: string): Endpoint[] => endpoints.filter(({ only }) => only === undefined || only === root);

export const offers: readonly Offer[] = roots.flatMap(({ prefix }) =>
  rowsAt(prefix).map((row) => ({ root: prefix, row })),
);

/** What decides how a body is received and judged. */
export function bodyKind({ root, row }: Offer): string {
  const { body, archive, bulk, byAccount, needsToken } = row;
  const isOpen = body !== undefined && !('additionalProperties' in body && body.additionalProperties === false);
  const kind = archive ? 'archive' : bulk ? 'bulk' : body ? (isOpen ? 'any members' : 'members') : 'no body';
  const credentials = [byAccount && `account ${byAccount === 'first' ? 'first' : 'only'}`, needsToken && 'token only'];
  return [root, kind, ...credentials].filter(Boolean).join(', ');
}

/** All in which rows differ for whoever refuses a request before its command is known. */
export function shapeOf(offer: Offer): string {
  const { method, session, upgrades } = offer.row;
  const rest = [session && `${session} a session`, upgrades && 'upgrades'].filter(Boolean);
  return [method, bodyKind(offer), ...rest].join(' ');
}

/** The first offer of each kind. */
export const oneOfEach = (kindOf: (offer: Offer) => string): (readonly [kind: string, Offer])[] =>
  [...Map.groupBy(offers, kindOf)].map(([kind, [first]]) => [kind, first!]);

const call = (server: TestServer, { root, row }: Offer, options: CallOptions): Promise<Reply> =>
  server.call(row.method, row.example.path, { root, ...options });

export async function refusesStrangers(server: TestServer, offer: Offer): Promise<void> {
  // What was wrong is said at one root only.
  const hint = offer.root === '/muster' ? [expect.any(String)] : [];
  const failure = { error: ['Authentication failure', ...hint], errorcode: 2 };
  const anonymous = await call(server, offer, { token: null });
  if (offer.row.needsToken) expect(errorOf(anonymous)).toEqual([405, 2]);
  else expect([anonymous.status, anonymous.json]).toEqual([401, failure]);
  const wrong = await call(server, offer, { token: '5cabd675-bc2e-4318-b1d6-831fd1f32f97' });
  expect([wrong.status, wrong.json]).toEqual([401, failure]);
}

export const methods = ['PATCH', 'HEAD', 'OPTIONS', 'PROPFIND', 'GET', 'PUT', 'POST', 'DELETE'];

/** Those of the methods that the path of the row does not offer, and what it offers. */
export async function refusesMethods(server: TestServer, { root, row }: Offer, tried: string[]): Promise<void> {
  const offered = rowsAt(root)
    .filter(({ path }) => path === row.path)
    .flatMap(({ method }) => (method === 'GET' && root === '/muster' ? ['GET', 'HEAD'] : method));
  for (const method of tried.filter((each) => !offered.includes(each))) {
    const reply = await server.call(method, row.example.path, { root, token: null });
    expect([method, reply.status]).toEqual([method, 405]);
    expect(reply.headers.allow?.split(', ').sort()).toEqual(offered.sort());
    if (method !== 'HEAD') expect(errorOf(reply)).toEqual([405, 2]);
  }
}

const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

export const notObjects: readonly (string | Buffer)[] = [
  '{"groups":',
  '{"a":1}}',
  'userName=root',
  '[1]',
  '"text"',
  '5',
  'true',
  'null',
  '[]',
  nested(33),
  Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]),
];

export async function refusesBody(server: TestServer, offer: Offer, body: string | Buffer): Promise<void> {
  expect([body, ...errorOf(await call(server, offer, { body }))]).toEqual([body, 400, 2]);
}

export async function refusesMembers(server: TestServer, offer: Offer): Promise<void> {
  if (offer.root !== '/muster' || offer.row.body || offer.row.archive) return;
  const reply = await call(server, offer, { body: { nosuch: 1 } });
  expect(errorOf(reply)).toEqual([400, 2]);
  expect(reply.json.error).toEqual(['The body has the unknown member "nosuch"; there are none here.']);
}
