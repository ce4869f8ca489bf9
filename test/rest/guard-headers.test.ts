import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GuardedResponse } from '../../src/rest/http/guarded-response.ts';
import type { CallOptions } from '../harness/client.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
  await server.ok('POST', '/nodes/n1', { groups: 'all', mgt: 'ipmi' });
});
afterAll(() => server.stop());

const nothingLoads = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const guard = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'content-security-policy': nothingLoads,
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

const requests: [what: string, status: number, method: string, path: string, options?: CallOptions][] = [
  ['a success', 200, 'PUT', '/nodes/n1', { body: { mgt: 'ipmi' } }],
  ['a stream', 200, 'GET', '/nodes/n1/nodels', { headers: { Accept: 'application/x-ndjson' } }],
  ['a refusal', 401, 'GET', '/nodes', { token: null }],
  ['an unknown path', 404, 'GET', '/nothing'],
  ['an unknown method', 405, 'PATCH', '/nodes'],
  ['a body that is no JSON', 400, 'PUT', '/nodes/n1', { body: '{' }],
  ['a body announced too large', 400, 'PUT', '/nodes/n1', { body: ' '.repeat(1_048_577) }],
  ['a path that cannot be read', 400, 'GET', '/nodes/%'],
  ['an expectation', 417, 'GET', '/nodes', { headers: { Expect: 'miracles' } }],
  ['whether it is up', 200, 'GET', '/health', { token: null }],
  ['the interface for programs', 200, 'GET', '/openapi.json', { token: null }],
];

describe.each(['/muster', '/xcatws'])('at %s a browser is kept from misusing', (root) => {
  it.each(requests)('%s (%d)', async (_what, status, method, path, options) => {
    const reply = await server.call(method, path, { root, ...options });
    expect(reply.status).toBe(status);
    expect(reply.headers).toMatchObject(guard);
  });

  it('a stranger learns nothing of how much was changed', async () => {
    const wrong = { authorization: 'Bearer 00000000-0000-0000-0000-000000000000' };
    for (const options of [{ token: null }, { token: null, headers: wrong }]) {
      const { status, headers } = await server.call('GET', '/nodes', { root, ...options });
      expect([status, headers['x-muster-revision']]).toEqual([401, undefined]);
    }
    expect((await server.call('GET', '/nodes/n9', { root })).headers['x-muster-revision']).toMatch(/^\d+$/);
  });

  it('data with a tag, which it may keep for its user and must ask about', async () => {
    const reply = await server.call('GET', '/nodes/n1', { root });
    const kept = { ...guard, 'cache-control': 'private, no-cache' };
    expect(reply.headers).toMatchObject(kept);
    const again = await server.call('GET', '/nodes/n1', { root, headers: { 'If-None-Match': reply.headers.etag! } });
    expect([again.status, again.headers]).toEqual([304, expect.objectContaining(kept)]);
  });

  it.each(['/docs', '/manual', '/manual/search?q=x'])(
    '%s may show its own style, run its own script, and search',
    async (path) => {
      const { headers, text } = await server.call('GET', path, { root, token: null });
      const hashOf = (tag: RegExp): string => createHash('sha256').update(tag.exec(text)![1]!).digest('base64');
      const style = `'sha256-${hashOf(/<style>([^]*?)<\/style>/)}'`;
      const script = `'sha256-${hashOf(/<script>([^]*?)<\/script>/)}'`;
      expect(headers).toMatchObject({
        ...guard,
        'content-security-policy': `${nothingLoads.replace("form-action 'none'", "form-action 'self'")}; style-src ${style}; script-src ${script}; img-src data:`,
      });
    },
  );
});

it('what is not even HTTP is answered with the same headers', async () => {
  const answer = await server.client.raw('NONSENSE\r\n\r\n');
  const [head = ''] = answer.split('\r\n\r\n');
  const lines = head.toLowerCase().split('\r\n');
  for (const [name, value] of Object.entries(guard)) expect(lines).toContain(`${name}: ${value.toLowerCase()}`);
});

describe('whichever way a reply is made', () => {
  const chosen = { 'Cache-Control': 'max-age=1', 'Content-Security-Policy': 'sandbox' };
  const ways: Record<string, [expected: object, make: (response: ServerResponse) => unknown]> = {
    'without headers': [{}, (response) => response.end()],
    'with its own': [chosen, (response) => response.writeHead(200, chosen).end()],
    'with its own beside one that was set before': [
      chosen,
      (response) => response.setHeader('Connection', 'close').writeHead(200, chosen).end(),
    ],
    'with its own set one by one': [chosen, (response) => response.setHeaders(new Map(Object.entries(chosen))).end()],
  };

  it.each(Object.keys(ways))('%s, each header is there once', async (way) => {
    const [expected, make] = ways[way]!;
    const http = createServer({ ServerResponse: GuardedResponse }, (_request, response) => make(response));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const { headers } = await fetch(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
    http.close();
    http.closeAllConnections();
    const own = Object.entries(expected).map(([name, value]) => [name.toLowerCase(), value]);
    expect(Object.fromEntries(headers)).toMatchObject({ ...guard, ...Object.fromEntries(own) });
  });
});
