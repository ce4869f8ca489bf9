import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, nkeyAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Channel, readFrame } from '../../src/bus/channel.ts';
import { readLogin } from '../../src/bus/login.ts';
import { protocol } from '../../src/bus/messages.ts';
import { busPlaces } from '../../src/bus/places.ts';
import type { Seals } from '../../src/bus/seals.ts';
import { Fault } from '../../src/core/errors.ts';
import { ensureCertificates } from '../../src/rest/http/certificates.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { type BusCluster, startBusCluster } from './cluster.ts';

let cluster: BusCluster;
let bmcs: LightLab;

beforeAll(async () => {
  [cluster, bmcs] = await Promise.all([
    startBusCluster(['sn1', 'sn2', 'sn3.cluster']),
    startLightBmcs({ count: 3, prefix: '127.157', delay: 5 }),
  ]);
  const { username, password } = labAccounts.administrator;
  const node = (names: string, attributes: object) => ({
    type: 'node',
    names,
    attributes: { groups: 'all', ...attributes },
  });
  const access = { mgt: 'ipmi', bmcusername: username };
  await cluster.server.ok('POST', '/definitions', {
    definitions: [
      node('n1', { ...access, bmc: bmcs.addresses[0], bmcpassword: password, servicenode: 'sn1' }),
      node('n2', { ...access, bmc: bmcs.addresses[1], bmcpassword: password, servicenode: 'sn3.cluster' }),
      node('n3', { ...access, bmc: bmcs.addresses[2], bmcpassword: 'secret-of-n3', servicenode: 'sn2' }),
    ],
  });
});
afterAll(async () => {
  await cluster?.remove();
  await bmcs?.stop();
});

/** A connection to NATS with the key of a worker. */
interface Visitor {
  readonly nats: NatsConnection;
  readonly seals: Seals;
  /** As that worker does it. */
  publish(subject: string, message: string | Uint8Array): void;
}

async function login(worker: string): Promise<Visitor> {
  const { data } = cluster.server;
  const ca = readFileSync(join(data, 'bus/ca.pem'), 'utf8');
  const { seed, seals } = readLogin(busPlaces(data).worker(worker), worker);
  const options = { ca, host: '127.0.0.1' };
  const nats = await connect({
    servers: cluster.nats.url.slice('tls://'.length),
    tls: options,
    authenticator: nkeyAuthenticator(new TextEncoder().encode(seed)),
    reconnect: false,
  });
  return {
    nats,
    seals,
    publish: (subject, message) => nats.publish(subject, seals.seal(subject, Buffer.from(message))),
  };
}

test('a server without a bus loads nothing of NATS', () => {
  const [lister, serve] = ['../lab/loaded-modules.mjs', '../../src/serve.ts'].map((file) =>
    join(import.meta.dirname, file),
  );
  const loaded = execFileSync(process.execPath, [lister!, serve!], { encoding: 'utf8' });
  expect([loaded.includes('/src/bus/connection.ts'), loaded.includes('@nats-io')]).toEqual([true, false]);
});

test('NATS that is killed and started again is connected to again', async () => {
  const { server, nats } = cluster;
  const worker = await cluster.worker('sn1');
  await nats.kill();
  const away = await cluster.listed('sn1', ({ state }) => state === 'gone');
  expect(away.problem).toBe('Nothing is heard of it. Check whether it runs and reaches NATS, in its log.');
  const { servers } = await server.ok('GET', '/servers');
  expect(servers[0].problem).toMatch(
    /^There is no connection to NATS \(tls:\/\/127\.0\.0\.1:\d+\): connection refused/,
  );
  expect(await server.ok('GET', '/nodes/n1/power')).toEqual({ n1: { power: 'off' } });
  await nats.start();
  await cluster.listed('sn1', ({ state, problem }) => state === 'connected' && problem === undefined);
  const tried = await server.ok('PUT', '/nodes/n1/power', { action: 'on' }, { query: { dryRun: 1 } });
  expect(tried.targets.n1.worker).toBe('sn1');
  await worker.kill();
});

test('a second worker of the same name gets no work until the first is gone', async () => {
  const first = await cluster.worker('sn1');
  const second = await cluster.worker('sn1', { waits: false });
  const sentence =
    /A second worker with the name sn1 runs on \S+: it gets no work\. Stop it, or start it with another name\./;
  const { problem } = await cluster.listed('sn1', (entry) => entry.problem !== undefined);
  expect(problem).toMatch(sentence);
  await expect.poll(() => second.output()).toMatch(sentence);
  await first.stop();
  await cluster.listed('sn1', (entry) => entry.state === 'connected' && entry.problem === undefined);
  expect(await cluster.server.ok('GET', '/nodes/n1/power')).toEqual({ n1: { power: 'off' } });
  await second.stop();
});

test('a worker of another version is listed with a sentence and gets no work', async () => {
  const { server } = cluster;
  const worker = await login('sn2');
  const presence = {
    protocol,
    version: '9.9.9',
    host: 'elsewhere',
    since: Date.now(),
    jobs: 0,
    nodes: 0,
    state: 'ready',
  };
  worker.publish('muster.from.sn2.other.here', JSON.stringify(presence));
  const { problem } = await cluster.listed('sn2', () => true);
  expect(problem).toMatch(
    /^The worker sn2 runs muster 9\.9\.9, and this server runs \S+: it gets no work\. Install \S+ there\.$/,
  );
  const tried = await server.ok('PUT', '/nodes/n3/power', { action: 'on' }, { query: { dryRun: 1 } });
  expect(tried.targets.n3.worker).toBeUndefined();
  // What is no message at all does nothing.
  worker.publish('muster.from.sn2.other.here', '{"protocol":');
  worker.publish('muster.from.sn2.other.here', new Uint8Array(500_000));
  worker.publish('muster.from.sn2.other.here', JSON.stringify({ ...presence, state: 'gone' }));
  await cluster.listed('sn2', ({ state }) => state === 'gone');
  await worker.nats.close();
  expect((await server.call('GET', '/health')).status).toBe(200);
});

test('a worker that lies is believed only what its job can bring', async () => {
  const { server } = cluster;
  const { version } = await server.ok('GET', '/health');
  const worker = await login('sn2');
  const presence = { protocol, version, host: 'elsewhere', since: Date.now(), jobs: 0, nodes: 0, state: 'ready' };
  const answers = [
    { is: 'begin', question: 0, nodes: ['n1', 'n3'] },
    {
      is: 'reports',
      reports: [
        { node: 'n3', effect: { kind: 'update', state: 'synced' } },
        { node: 'n1', effect: { kind: 'status', status: 'powering-on' } },
        { result: { node: 'n1', value: { power: 'lie' } } },
        { node: 'n3', effect: { kind: 'status', status: 'powering-on' } },
        { node: 'n3', effect: { kind: 'status', status: 'powering-off' } },
        { node: 'n3', effect: { kind: 'moved', from: bmcs.addresses[2]!, to: bmcs.addresses[0]! } },
        { result: { node: 'n3', value: { power: 'on' } } },
        { result: { node: 'n3', value: { power: 'off' } } },
      ],
    },
  ];
  const channels = new Map<string, Channel>();
  worker.nats.subscribe('muster.to.sn2.liar.>', {
    callback: (_error, { subject, data }) => {
      if (!subject.includes('.job.')) return;
      let channel = channels.get(subject);
      if (!channel) {
        const transmit = (frame: Uint8Array): void => worker.publish(subject.replace('.to.', '.from.'), frame);
        channels.set(subject, (channel = new Channel({ transmit, largest: 1_000_000 })));
        for (const answer of answers) void channel.send(Buffer.from(JSON.stringify(answer)));
      }
      channel.receive(readFrame(worker.seals.open(subject, data)!)!);
    },
  });
  const announce = (state: string): void =>
    worker.publish('muster.from.sn2.liar.here', JSON.stringify({ ...presence, state }));
  announce('ready');
  const announcing = setInterval(() => announce('ready'), 1_000);
  await cluster.listed('sn2', ({ state, problem }) => state === 'connected' && problem === undefined);
  const reply = await server.call('PUT', '/nodes/n3/power', { body: { action: 'on' } });
  const run = await server.ok('GET', `/runs/${String(reply.headers['x-muster-run'])}`);
  expect(run.results).toEqual([{ node: 'n3', value: { power: 'on' } }]);
  const attributes = await server.ok('GET', '/nodes/n1,n3/attrs/status,updatestatus');
  expect(attributes).toEqual({
    n1: { status: '', updatestatus: '' },
    n3: { status: 'powering-on', updatestatus: '' },
  });
  await expect
    .poll(() => server.output())
    .toContain('reported update of n3, which rpower on its nodes cannot have; it was not kept');
  await expect.poll(() => server.output()).toContain('sent a result for n1, which it was not asked for');
  await expect.poll(() => server.output()).toContain('reported status of n3, which rpower on its nodes cannot have');
  // Reading the settings of a BMC moves none.
  answers.splice(0, 2, {
    is: 'reports',
    reports: [
      { node: 'n3', effect: { kind: 'moved', from: bmcs.addresses[2]!, to: bmcs.addresses[0]! } },
      { result: { node: 'n3', value: { 'BMC IP': bmcs.addresses[2]! } } },
    ],
  } as never);
  await server.ok('GET', '/nodes/n3/sp/ip');
  expect(await server.ok('GET', '/nodes/n3/attrs/bmc')).toEqual({ n3: { bmc: bmcs.addresses[2] } });
  // One that takes a job and says nothing more keeps no run that was cancelled.
  answers.splice(0);
  const hung = await server.call('GET', '/nodes/n3/power', { headers: { Prefer: 'respond-async' } });
  const hungRun = `/runs/${String(hung.headers['x-muster-run'])}`;
  await server.ok('DELETE', hungRun);
  await expect.poll(async () => (await server.ok('GET', hungRun)).state, { timeout: 40_000 }).toBe('cancelled');
  // A time that no calendar has is none.
  worker.publish('muster.from.sn2.liar.here', JSON.stringify({ ...presence, since: 1e300 }));
  expect((await server.call('GET', '/servers')).status).toBe(200);
  // What nobody can read ends the job, and the server does it itself.
  answers.splice(0, 9, { is: 'nonsense' } as never);
  expect((await server.call('PUT', '/nodes/n3/power', { body: { action: 'off' } })).text).toContain('n3: ');
  await expect
    .poll(() => server.output())
    .toContain('The worker sn2 sent something that is no answer; its job was ended.');
  clearInterval(announcing);
  announce('gone');
  await cluster.listed('sn2', ({ state }) => state === 'gone');
  await worker.nats.close();
  for (const channel of channels.values()) channel.close(new Fault('unavailable', 'over'));
});

describe('NATS lets a worker', () => {
  test('read and write nothing of another', async () => {
    const worker = await login('sn2');
    const refusals: string[] = [];
    const watching = (async () => {
      for await (const status of worker.nats.status()) if (status.type === 'error') refusals.push(status.error.message);
    })();
    for (const subject of ['muster.to.sn1.>', 'muster.>', 'muster.from.>', '>'])
      worker.nats.subscribe(subject, { callback: () => undefined });
    for (const subject of ['muster.from.sn1.x.here', 'muster.to.sn1.x.notice', 'muster.all.server'])
      worker.nats.publish(subject, '{}');
    await expect.poll(() => refusals.length).toBe(7);
    expect(refusals.every((text) => /permissions violation/i.test(text))).toBe(true);
    await worker.nats.close();
    await watching;
  });

  test('in only with a key that it knows, and a worker trusts only its authority', async () => {
    const other = temporaryDirectory();
    const { ca } = await ensureCertificates(other, ['127.0.0.1']);
    const worker = await cluster.worker('sn2', { waits: false, environment: { MUSTER_BUS_CA: ca } });
    await expect.poll(() => worker.output()).toMatch(/There is no connection to NATS .*certificate/);
    await worker.kill();
    const seed = join(other, 'strange.seed');
    const strange = `SU${'A'.repeat(55)}`;
    writeFileSync(seed, strange);
    const broken = await cluster
      .worker('sn2', { waits: false, environment: { MUSTER_BUS_CREDENTIALS: seed } })
      .catch((error: unknown) => String(error));
    expect(broken).toContain('does not hold the seed of an nkey. Make the keys with muster bus-config');
    cpSync(join(cluster.server.data, 'bus/workers/sn2.seed'), seed);
    const wrong = await cluster.worker('sn1', { waits: false, environment: { MUSTER_BUS_CREDENTIALS: seed } });
    await expect.poll(() => wrong.output()).toMatch(/permissions violation/i);
    await wrong.kill();
  });
});

test('a job holds the secrets of its own targets and no others, and the SSH key only if it logs in', async () => {
  const { server } = cluster;
  const worker = await cluster.worker('sn3.cluster');
  // The key of servers reads nothing that is sent to workers; that of the worker does.
  const listener = await login('sn3.cluster');
  const heard: string[] = [];
  listener.nats.subscribe('muster.to.sn3~cluster.>', {
    callback: (_error, { subject, data }) =>
      void heard.push(Buffer.from(listener.seals.open(subject, data)!).toString()),
  });
  await listener.nats.flush();
  await server.ok('GET', '/nodes/all/power').catch(() => undefined);
  await server.call('POST', '/nodes/n2/nodeshell', { body: { command: 'true' } });
  const jobs = heard.filter((text) => text.includes('"is":"job"'));
  const { password } = labAccounts.administrator;
  const found = (text: string): boolean[] =>
    ['"n2"', password, 'secret-of-n3', 'OPENSSH PRIVATE KEY'].map((secret) => text.includes(secret));
  expect(jobs.map(found)).toEqual([
    [true, true, false, false],
    [true, false, false, true],
  ]);
  await listener.nats.close();
  await worker.stop();
});
