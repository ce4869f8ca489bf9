import { randomUUID } from 'node:crypto';
import { Compile } from 'typebox/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicId } from '../../src/access/token-scope.ts';
import { hashToken } from '../../src/access/tokens.ts';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import { endpoints } from '../../src/rest/endpoints/index.ts';
import { roots } from '../../src/rest/endpoints/roots.ts';
import type { CallOptions, Reply } from '../harness/client.ts';
import { errorOf } from '../harness/errors.ts';
import { exampleRows } from '../harness/example-rows.ts';
import { resetTo } from '../harness/reset.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.stop());

const megabyte = 1_048_576;
const bodyTypes = ['[1]', '"text"', '5', 'true', 'null', '[]'];
const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

const offeredAt = (root: string): Endpoint[] => endpoints.filter(({ only }) => only === undefined || only === root);

describe.each(roots.map(({ prefix }) => prefix))('every row at %s', (root) => {
  const offered = offeredAt(root);
  /** What was wrong is said at one root only. */
  const hint = root === '/muster' ? [expect.any(String)] : [];
  const authenticationFailure = { error: ['Authentication failure', ...hint], errorcode: 2 };
  const rows = offered.map((row) => [`${row.method} ${row.path}`, row] as const);
  const paths = [...new Set(offered.map(({ path }) => path))];
  const methodsAt = (path: string): string[] =>
    offered
      .filter((row) => row.path === path)
      .flatMap(({ method }) => (method === 'GET' && root === '/muster' ? ['GET', 'HEAD'] : method));
  const call = (row: Endpoint, options: CallOptions = {}) =>
    server.call(row.method, row.example.path, { root, ...options });

  it.each(rows)('%s refuses the anonymous and the wrong token', async (_name, row) => {
    const anonymous = await call(row, { token: null });
    if (row.needsToken) expect(errorOf(anonymous)).toEqual([405, 2]);
    else expect([anonymous.status, anonymous.json]).toEqual([401, authenticationFailure]);
    const wrong = await call(row, { token: '5cabd675-bc2e-4318-b1d6-831fd1f32f97' });
    expect([wrong.status, wrong.json]).toEqual([401, authenticationFailure]);
  });

  it.each(paths)('%s offers its methods and no other', async (path) => {
    const { example } = offered.find((row) => row.path === path)!;
    for (const method of ['PATCH', 'HEAD', 'OPTIONS', 'PROPFIND', 'GET', 'PUT', 'POST', 'DELETE']) {
      if (methodsAt(path).includes(method)) continue;
      const reply = await server.call(method, example.path, { root, token: null });
      expect([method, reply.status]).toEqual([method, 405]);
      expect(reply.headers.allow?.split(', ').sort()).toEqual(methodsAt(path).sort());
      if (method !== 'HEAD') expect(errorOf(reply)).toEqual([405, 2]);
    }
  });

  it.each(rows)('%s refuses a body that is no JSON object', async (_name, row) => {
    for (const body of ['{"groups":', '{"a":1}}', 'userName=root', ...bodyTypes, nested(33)])
      expect(errorOf(await call(row, { body }))).toEqual([400, 2]);
    expect(errorOf(await call(row, { body: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]) }))).toEqual([400, 2]);
  });

  const bodiless = root === '/muster' ? rows.filter(([, row]) => !row.body && !row.archive) : [];
  it.each(bodiless)('%s refuses members, as it has none', async (_name, row) => {
    const reply = await call(row, { body: { nosuch: 1 } });
    expect(errorOf(reply)).toEqual([400, 2]);
    expect(reply.json.error).toEqual(['The body has the unknown member "nosuch"; there are none here.']);
  });

  // What bounds archives is tried by test/remote/client-files.
  it.each(rows.filter(([, row]) => !row.archive))(
    '%s refuses a body of 40 MB, announced or not',
    async (_name, row) => {
      const account = row.byAccount ? `?userName=root&userPW=${rootPassword}` : '';
      const path = root + row.example.path + account;
      for (const chunked of [false, true]) {
        if (chunked && row.bulk) continue;
        const reply = await server.client.upload(row.method, path, 40 * megabyte, chunked, server.token);
        expect(errorOf(reply)).toEqual([400, 2]);
        expect(reply.json.error[0]).toMatch(/larger than \d+ bytes/);
      }
    },
  );

  describe('answers its own example', () => {
    let run: string;
    beforeAll(async () => {
      await resetTo(server, exampleRows);
      run = String((await server.call('GET', '/nodes')).headers['x-muster-run']);
    });

    let change = '';
    const examplePath = ({ example }: Endpoint): string =>
      example.path.replace(/^\/runs\/.*/, `/runs/${run}`).replace(/^\/changes\/2/, `/changes/${change}`);
    const body = ({ example }: Endpoint): CallOptions =>
      example.body === undefined ? {} : { body: JSON.stringify(example.body).replace('PASSWORD', rootPassword) };

    const operatorToken = async (): Promise<string> =>
      (await server.ok('POST', '/tokens', { userName: 'operator', userPW: 'operates' }, { token: null })).token.id;

    it.each(rows)('%s', async (_name, row) => {
      if (row.method !== 'GET') await resetTo(server, exampleRows);
      if (row.method === 'POST' && row.range) await server.call('DELETE', examplePath(row));
      if (row.command.name === 'snmove')
        await server.ok('PUT', '/nodes', { sn2: { groups: 'service' }, n1: { servicenode: 'sn1' } });
      // Rows that revoke tokens must not revoke the ones this test works with.
      const token = /^\/(tokens|session)/.test(row.path) ? await operatorToken() : server.token;
      const { query } = row.example;
      if (row.path.startsWith('/changes'))
        change = String(
          (await server.call('PUT', '/nodes/n1', { body: { rack: randomUUID() } })).headers['x-muster-revision'],
        );
      const ownPath = examplePath(row).replace(/^\/tokens\/[0-9a-f]{16}$/, `/tokens/${publicId(hashToken(token))}`);
      const reply = await server.call(row.method, ownPath, {
        root,
        token,
        ...(query && { query }),
        ...body(row),
      });
      // There is no hardware here; test/hardware tries these examples on a lab.
      if (
        row.command.kind === 'per-node' ||
        ['bmccertify', 'bmcdiscover', 'bmcrotate', 'lsslp', 'makedns', 'nodeset', 'rinstall'].includes(row.command.name)
      ) {
        expect(reply.status).toBeLessThan(500);
        return;
      }
      // Nor is there a medium or an image; their own tests have some.
      if (row.command.kind === 'long') {
        expect(errorOf(reply)).toEqual([
          ['rmosdistro', 'rmkit', 'lskmodules'].includes(row.command.name) ? 404 : 403,
          1,
        ]);
        return;
      }
      // The nodes have no addresses, which only /muster refuses.
      if (row.path === '/nodes/{noderange}/host' && row.method === 'POST' && root === '/muster') {
        expect(errorOf(reply)).toEqual([403, 1]);
        return;
      }
      // No test sets routes of the machine that it runs on; test/rest/networks.test.ts has a network of its own.
      if (row.command.name === 'makeroutes') {
        expect(errorOf(reply)).toEqual([404, 1]);
        return;
      }
      if (['lsimage', 'lskitdeployparam', 'chkkitcomp'].includes(row.command.name)) {
        expect(errorOf(reply)).toEqual([row.command.name === 'chkkitcomp' ? 403 : 404, 1]);
        return;
      }
      // Nor is a console open; test/consoles has some.
      if (row.path === '/consoles' || row.path === '/consolelog') {
        expect([reply.status, reply.json]).toEqual([200, row.path === '/consoles' ? [] : {}]);
        return;
      }
      // Nor is there a DHCP server; test/names/dhcp has one.
      if (row.path === '/nodes/{noderange}/dhcp') {
        expect(errorOf(reply)).toEqual([503, 5]);
        return;
      }
      if (row.method === 'DELETE' && row.path === '/runs/{id}') {
        expect(errorOf(reply)).toEqual([403, 1]);
        expect(reply.json.error[0]).toContain('has ended');
        return;
      }
      // Nor has another server died; test/process/listed-servers has one.
      if (row.command.name === 'rmserver') {
        expect(errorOf(reply)).toEqual([root === '/muster' ? 404 : 403, 1]);
        expect(reply.json.error[0]).toContain('No server "mgmt2" is listed as gone.');
        return;
      }
      expect([reply.status, reply.text]).toEqual([row.method === 'POST' ? 201 : 200, expect.anything()]);
      expectShape(row, reply);
    });
  });
});

function expectShape({ reply: shape, returns, example, path }: Endpoint, { text }: Reply): void {
  if (shape === 'none') return expect(text).toBe('');
  // What these hold is tried by test/events and test/metrics.
  if (shape === 'text') return expect(text).toMatch(/^# HELP muster_/);
  if (shape === 'events') return expect(text).toMatch(/^retry: 2000\n\nid: .*\nevent: ready\n/);
  const json = JSON.parse(text);
  if (returns !== undefined) expect([...Compile(returns).Errors(json)]).toEqual([]);
  if (shape === 'list') {
    expect(json.every((item: unknown) => typeof item === 'string')).toBe(true);
    return expect(json).not.toEqual([]);
  }
  if (shape === 'objects') {
    const [first] = example.reply as object[];
    return json.forEach((item: object) => expect(Object.keys(item)).toEqual(Object.keys(first!)));
  }
  const shown = Object.keys(example.reply as object).sort();
  // Its example shows one of a hundred types.
  if (path === '/attributes') expect(Object.keys(json)).toEqual(expect.arrayContaining(shown));
  else expect(Object.keys(json).sort()).toEqual(shown);
  if (shape !== 'attributes') return;
  for (const [name, attributes] of Object.entries(example.reply as Record<string, object>))
    expect(Object.keys(json[name])).toEqual(expect.arrayContaining(Object.keys(attributes)));
}

describe('a body of 40 MB', () => {
  it('that is sent to its end before the client reads gets its reply too', async () => {
    for (const [method, path] of [
      ['PUT', '/muster/nodes/n1'],
      ['PUT', '/muster/nodes'],
      ['POST', '/xcatws/tokens'],
      ['PUT', '/muster/nothing/here'],
    ] as const) {
      const reply = await server.client.call(method, path, { root: '', body: Buffer.alloc(40 * megabyte, ' ') });
      expect(errorOf(reply)).toEqual([400, 2]);
    }
  });

  it('is refused on the bulk rows without being announced, after 32 MiB', async () => {
    const reply = await server.client.upload('PUT', '/muster/nodes', 40 * megabyte, true, server.token);
    expect(errorOf(reply)).toEqual([400, 2]);
    expect(reply.json.error).toEqual(['The body is larger than 33554432 bytes.']);
  });

  it('is refused after 1 MiB on all other rows, and just below not', async () => {
    const padded = (size: number) => `{"usercomment":"x"}${' '.repeat(size - 19)}`;
    await resetTo(server, exampleRows);
    expect(errorOf(await server.call('PUT', '/nodes/n1', { body: padded(megabyte + 1) }))).toEqual([400, 2]);
    expect((await server.call('PUT', '/nodes/n1', { body: padded(megabyte) })).status).toBe(200);
  });

  it('leaves the connection and the server usable', async () => {
    expect((await server.call('GET', '/nodes/n1/nodels')).json).toEqual(['n1']);
  });
});
