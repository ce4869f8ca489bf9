import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newKeyPair } from '../../src/protocols/ssh/host-keys.ts';
import { type RootLab, startRoots } from '../lab/roots.ts';
import { type Line, parseLines } from '../remote/world.ts';
import { type BusCluster, startBusCluster, type TestWorker } from './cluster.ts';

const port = 2641;
const kept = 10_000;
let cluster: BusCluster;
let roots: RootLab;
let worker: TestWorker;

/** Nothing listens where sn1 is: only its worker reaches the nodes, and the server, which would go through sn1, does not. */
beforeAll(async () => {
  const environment = {
    MUSTER_REMOTE_PORT: String(port),
    MUSTER_REMOTE_OUTPUT_LIMIT: String(kept),
    // One node after the other, and so one job after the other.
    MUSTER_REMOTE_FAN_OUT: '1',
  };
  [cluster, roots] = await Promise.all([
    startBusCluster(['sn1'], environment),
    startRoots({ count: 2, prefix: '127.156', port, perRoot: 1 }),
  ]);
  const { server } = cluster;
  const [publicKey] = await server.ok('GET', '/services/sshkey');
  roots.authorize(publicKey);
  const node = (names: string, attributes: object) => ({ type: 'node', names, attributes });
  await server.ok('POST', '/definitions', {
    definitions: [
      node('sn1', { groups: 'service', ip: '127.156.9.9' }),
      ...roots.addresses.map((ip, index) => node(`n${index + 1}`, { groups: 'all', ip, servicenode: 'sn1' })),
    ],
  });
  worker = await cluster.worker('sn1');
});
afterAll(async () => {
  await cluster?.remove();
  await roots?.stop();
});

async function stream(path: string, body: object): Promise<Line[]> {
  const headers = { Accept: 'application/x-ndjson' };
  return parseLines((await cluster.server.call('POST', path, { body, headers })).text);
}

test('commands run through the worker, and the server keeps the host keys that it sees first', async () => {
  const { server } = cluster;
  const tried = await server.ok('POST', '/nodes/n1/nodeshell', { command: 'true' }, { query: { dryRun: 1 } });
  expect(tried.targets).toEqual({ n1: { address: `127.156.0.1:${port}`, user: 'root', worker: 'sn1' } });
  // The key that is known already is what counts.
  await server.ok('PUT', '/tables/sshhostkey/rows/node=n2', { hostkey: newKeyPair('other').publicKey });
  const refused = await server.call('POST', '/nodes/n2/nodeshell', { body: { command: 'echo hello' } });
  expect(refused.text).toContain('DELETE /tables/sshhostkey/rows/node=n2');
  await server.ok('DELETE', '/tables/sshhostkey/rows/node=n2');
  const reply = await server.call('POST', '/nodes/n1-n2/nodeshell', { body: { command: 'echo hello' } });
  expect([reply.status, reply.json]).toEqual([201, { n1: ['hello'], n2: ['hello'] }]);
  const rows = await server.ok('GET', '/tables/sshhostkey/rows');
  expect(rows.sshhostkey.map((row: { node: string }) => row.node)).toEqual(['n1', 'n2']);
});

test('output that is more than is kept comes whole through the worker', async () => {
  const lines = await stream('/nodes/n1/nodeshell', { command: 'seq 300000' });
  const printed = lines.flatMap((line) => (typeof line.stdout === 'string' ? line.stdout : [])).join('');
  expect(printed === Array.from({ length: 300_000 }, (_, index) => `${index + 1}\n`).join('')).toBe(true);
  expect(lines.at(-2)).toMatchObject({ node: 'n1', value: { code: 0, cut: printed.length - kept } });
});

test('files are fetched once by the worker, checked, and put on the nodes', async () => {
  const { server } = cluster;
  const tree = join(server.data, 'files/tree');
  mkdirSync(tree, { recursive: true });
  const large = Buffer.alloc(700_000, 'content of a large file, ');
  writeFileSync(join(tree, 'large'), large);
  for (let index = 0; index < 20; index++) writeFileSync(join(tree, `small${index}`), `content ${index}`);
  const copy = (): Promise<unknown> =>
    server.ok('POST', '/nodes/n1-n2/nodecopy', { src: [tree], target: '/srv/copies' });
  await copy();
  for (const index of [0, 1]) {
    expect(roots.read(index, '/srv/copies/tree/large').equals(large)).toBe(true);
    expect(roots.read(index, '/srv/copies/tree/small7').toString()).toBe('content 7');
  }
  const store = join(worker.data, 'bus/files/sn1');
  const names = readdirSync(store);
  expect(names).toHaveLength(21);
  for (const name of names)
    expect(
      createHash('sha256')
        .update(readFileSync(join(store, name)))
        .digest('hex'),
    ).toBe(name);
  writeFileSync(join(tree, 'small7'), 'other content');
  await copy();
  expect(roots.read(1, '/srv/copies/tree/small7').toString()).toBe('other content');
  expect(readdirSync(store)).toHaveLength(22);
});

test('postscripts run through the worker', async () => {
  const { server } = cluster;
  writeFileSync(join(server.data, 'postscripts/greet'), '#!/bin/sh\necho "hello $NODE"\n', { mode: 0o755 });
  const reply = await server.ok('POST', '/nodes/n1/postscript', { scripts: ['greet'] });
  expect(JSON.stringify(reply)).toContain('hello n1');
});

test('a run that is cancelled ends on the node', async () => {
  const { server } = cluster;
  const headers = { Prefer: 'respond-async' };
  const begun = await server.call('POST', '/nodes/n1/nodeshell', {
    body: { command: 'echo begun > /srv/begun; sleep 614' },
    headers,
  });
  const run = String(begun.headers['x-muster-run']);
  await expect.poll(() => existsSync(roots.path(0, '/srv/begun')), { timeout: 30_000 }).toBe(true);
  await server.ok('DELETE', `/runs/${run}`);
  await expect.poll(async () => (await server.ok('GET', `/runs/${run}`)).state, { timeout: 30_000 }).toBe('cancelled');
  const { results } = await server.ok('GET', `/runs/${run}`);
  expect(results).toMatchObject([{ node: 'n1', error: 'The run was cancelled.' }]);
  const sleeping = async (): Promise<unknown> =>
    server.ok('POST', '/nodes/n1/nodeshell', { command: 'pgrep -fx "sleep 614" | wc -l' });
  await expect.poll(sleeping, { timeout: 30_000 }).toEqual({ n1: ['0'] });
});

test('nodes whose turn had not come when the worker was killed go to the server', async () => {
  const { server } = cluster;
  const command = 'echo begun > /srv/last; sleep 615';
  const asked = server.call('POST', '/nodes/n1-n2/nodeshell', { body: { command } });
  await expect.poll(() => existsSync(roots.path(0, '/srv/last')), { timeout: 30_000 }).toBe(true);
  await worker.kill();
  const { error } = (await asked).json as { readonly error: readonly string[] };
  expect(error).toHaveLength(2);
  expect(error[0]).toBe(
    'n1: the worker sn1 was lost while it did xdsh on this node, so that may have happened or not. Log in to n1 and look before you send it again.',
  );
  // The server goes through sn1, where nothing listens.
  expect(error[1]).toMatch(/^n2: .*sn1/);
});
