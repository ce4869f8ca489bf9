import { randomUUID } from 'node:crypto';
import { Compile } from 'typebox/compile';
import { expect } from 'vitest';
import { publicId } from '../../src/access/token-scope.ts';
import { hashToken } from '../../src/access/tokens.ts';
import type { Endpoint } from '../../src/rest/endpoints/endpoint.ts';
import type { CallOptions, Reply } from '../harness/client.ts';
import { errorOf } from '../harness/errors.ts';
import { exampleRows } from '../harness/example-rows.ts';
import { resetTo } from '../harness/reset.ts';
import { rootPassword, type TestServer } from '../harness/server.ts';
import type { Offer } from './row-refusals.ts';

const revisionOf = ({ headers }: Reply): string => String(headers['x-muster-revision']);

export interface Examples {
  /** Makes the rows of the server those that the examples name. */
  reset(): Promise<void>;
  /** The reply to a row's own example. */
  reply(offer: Offer): Promise<Reply>;
}

export function examplesOn(server: TestServer): Examples {
  const revisionNow = async (): Promise<string> => revisionOf(await server.call('GET', '/nodes'));
  /** What it was when the rows were those of the examples. */
  let revision = '';
  const reset = async (): Promise<void> => {
    if ((await revisionNow()) === revision) return;
    await resetTo(server, exampleRows);
    revision = await revisionNow();
  };
  const operatorToken = async (): Promise<string> =>
    (await server.ok('POST', '/tokens', { userName: 'operator', userPW: 'operates' }, { token: null })).token.id;

  const reply = async ({ root, row }: Offer): Promise<Reply> => {
    if (row.method !== 'GET') await reset();
    let { path } = row.example;
    if (path.startsWith('/runs/'))
      path = `/runs/${String((await server.call('GET', '/nodes')).headers['x-muster-run'])}`;
    if (path.startsWith('/changes/2')) {
      const change = await server.call('PUT', '/nodes/n1', { body: { rack: randomUUID() } });
      path = path.replace('2', revisionOf(change));
    }
    if (row.method === 'POST' && row.range) await server.call('DELETE', path);
    if (row.command.name === 'snmove')
      await server.ok('PUT', '/nodes', { sn2: { groups: 'service' }, n1: { servicenode: 'sn1' } });
    // Rows that revoke tokens must not revoke the ones this test works with.
    const token = /^\/(tokens|session)/.test(row.path) ? await operatorToken() : server.token;
    path = path.replace(/^\/tokens\/[0-9a-f]{16}$/, `/tokens/${publicId(hashToken(token))}`);
    const { query } = row.example;
    return server.call(row.method, path, { root, token, ...(query && { query }), ...bodyOf(row) });
  };
  return { reset, reply };
}

const bodyOf = ({ example }: Endpoint): CallOptions =>
  example.body === undefined ? {} : { body: JSON.stringify(example.body).replace('PASSWORD', rootPassword) };

export function expectExample({ root, row }: Offer, reply: Reply): void {
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
    expect(errorOf(reply)).toEqual([['rmosdistro', 'rmkit', 'lskmodules'].includes(row.command.name) ? 404 : 403, 1]);
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
}

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
