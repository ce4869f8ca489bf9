import { cpSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BootLab, startBootLab } from '../boot/boot-client.ts';
import { EventClient } from '../harness/events.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { makePostgres, type Postgres } from '../lab/postgres.ts';

const address = '127.0.0.53';
let postgres: Postgres;
let bmcs: LightLab;
/** Machines boot at the first server; people listen at the second. */
let first: BootLab;
let second: TestServer;
let events: EventClient;

beforeAll(async () => {
  [postgres, bmcs] = await Promise.all([
    makePostgres('muster'),
    startLightBmcs({ count: 1, prefix: '127.150', port: 623 }),
  ]);
  const environment = { MUSTER_DATABASE: postgres.url };
  first = await startBootLab(environment);
  const data = temporaryDirectory();
  cpSync(join(first.server.data, 'secret.key'), join(data, 'secret.key'));
  second = await startServer({ environment, data });
  await first.server.ok('PUT', '/nodes/n1', {
    groups: 'all',
    ip: address,
    mac: '52:54:00:00:00:53',
    netboot: 'xnba',
    arch: 'x86_64',
  });
  await first.server.ok('PUT', '/nodes/n1', {
    mgt: 'ipmi',
    bmc: bmcs.addresses[0],
    bmcusername: 'admin',
    bmcpassword: 'secret',
  });
  await first.server.ok('PUT', '/nodes/n1/bootstate', { state: 'boot' });
  events = await EventClient.open(second);
});
afterAll(async () => {
  events.close();
  await Promise.all([first.stop(), second.stop(), bmcs.stop()]);
  await postgres.remove();
});

it('what a machine does at one server is heard and known at another', async () => {
  expect((await first.from(address, '/boot/52-54-00-00-00-53.ipxe')).status).toBe(200);
  const { data } = await events.event((_data, kind) => kind === 'boot');
  expect(data).toMatchObject({ step: 'script', nodes: ['n1'] });
  const { n1 } = await second.ok('GET', '/nodes/n1/boot');
  expect(JSON.stringify(n1)).toContain('script');
});

it('a node that one server provisions is refused at another, until that has ended', async () => {
  const provision = (server: TestServer, options: object = {}) =>
    server.call('POST', '/nodes/n1/provision', { body: { state: 'boot' }, ...options });
  const begun = await provision(first.server, { headers: { Prefer: 'respond-async' } });
  const run = String(begun.headers['x-muster-run']);
  expect(begun.status).toBe(202);
  const refused = expect.stringMatching(
    new RegExp(`^n1: user "root" has been provisioning it since \\S+ \\(run ${run} at server ${hostname()}\\)\\.$`),
  );
  expect((await provision(second)).json.error).toEqual([refused]);
  const tried = await second.call('POST', '/nodes/n1/provision?dryRun=1', { body: { state: 'boot' } });
  expect(tried.text).toContain('has been provisioning it since');
  await second.ok('DELETE', `/runs/${run}`);
  await expect.poll(async () => (await second.ok('GET', `/runs/${run}`)).state).toBe('cancelled');
  const next = await provision(second, { headers: { Prefer: 'respond-async' } });
  const nextRun = `/runs/${String(next.headers['x-muster-run'])}`;
  await second.ok('DELETE', nextRun);
  await expect.poll(async () => (await second.ok('GET', nextRun)).state).toBe('cancelled');
});

it('the power that one server reads is heard at another', async () => {
  await first.server.ok('GET', '/nodes/n1/power');
  const { data } = await events.event((_data, kind) => kind === 'power');
  expect(data).toMatchObject({ kind: 'power', nodes: ['n1'] });
});
