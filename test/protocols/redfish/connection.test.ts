import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Unreachable } from '../../../src/core/errors.ts';
import { RedfishClient, type RedfishOptions } from '../../../src/protocols/redfish/client.ts';
import { allResources } from '../../../src/protocols/redfish/collection.ts';
import { systemOf } from '../../../src/protocols/redfish/node-resources.ts';
import { type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { type MemoryTrust, memoryTrust } from './memory-trust.ts';
import { scripted } from './scripted.ts';

let lab: RedfishLab;
let trust: MemoryTrust;
let client: RedfishClient;
const signal = new AbortController().signal;
const deadline = 1_000;

beforeAll(async () => {
  lab = await startRedfish({ count: 6, prefix: '127.110', port: 8_447, kinds: ['plain'] });
});
afterAll(() => lab.stop());
beforeEach(() => {
  trust = memoryTrust();
  client = new RedfishClient({ trust });
});
afterEach(() => client.close());

const limited = (options: Partial<RedfishOptions>) => {
  void client.close();
  client = new RedfishClient({ trust, ...options });
};
const serviceOf = (index: number, { node = `n${index}`, password = 'secret' } = {}) =>
  client.service({ key: node, address: lab.addresses[index]!, port: lab.port, username: 'admin', password });
const powerOf = async (index: number, options = {}) =>
  (await systemOf(serviceOf(index, options), { node: `n${index}` }, signal)).body['PowerState'];
const rootsAsked = async (index: number) =>
  (await lab.state(index)).requests.filter((line) => line === 'GET /redfish/v1').length;

describe('a service that hangs', () => {
  it.each(['warm', 'cold'])('costs one timeout, with which all fail who wait: %s', async (start) => {
    limited({ requestTimeout: deadline });
    if (start === 'warm') await powerOf(0);
    await lab.fault(0, { dead: 'silent' });
    const asked = Array.from({ length: 12 }, (_, i) => serviceOf(0).get(`/redfish/v1/Systems?${i}`, signal));
    const outcomes = await Promise.allSettled(asked);
    const reasons = new Set(outcomes.map((one) => one.status === 'rejected' && (one.reason as unknown)));
    expect([...reasons]).toEqual([expect.any(Unreachable)]);
    await expect.poll(async () => (await lab.state(0)).connections).toBe(0);
    await lab.fault(0, { dead: false });
    expect(await powerOf(0)).toBe('Off');
  });

  it('is logged out of when it answers again', async () => {
    limited({ requestTimeout: deadline });
    await powerOf(0);
    await lab.fault(0, { dead: 'silent' });
    await expect(powerOf(0)).rejects.toBeInstanceOf(Unreachable);
    await lab.fault(0, { dead: false });
    await client.close();
    expect((await lab.state(0)).openSessions).toBe(0);
  });

  it('is asked for its root again', async () => {
    limited({ requestTimeout: deadline });
    await powerOf(0);
    const before = await rootsAsked(0);
    await lab.fault(0, { dead: 'refused' });
    await expect(powerOf(0)).rejects.toBeInstanceOf(Unreachable);
    await lab.fault(0, { dead: false, forget: true });
    await powerOf(0);
    expect(await rootsAsked(0)).toBe(before + 1);
  });
});

it('what is left of a list is not asked for when one of it fails', async () => {
  const service = serviceOf(1);
  await powerOf(1);
  await lab.fault(1, { garbage: true, delay: 100 });
  const members = Array.from({ length: 10 }, (_, i) => ({ '@odata.id': `/redfish/v1/Systems?${i}` }));
  const before = (await lab.state(1)).requests.length;
  await expect(allResources(service, members, signal)).rejects.toMatchObject({ kind: 'garbled' });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect((await lab.state(1)).requests.length - before).toBeLessThan(3);
  await lab.fault(1, { garbage: false, delay: 0 });
});

describe('the root of a service', () => {
  it('is asked for again after the connection was given back', async () => {
    limited({ idle: 150 });
    await powerOf(1);
    const before = await rootsAsked(1);
    await expect.poll(async () => (await lab.state(1)).connections).toBe(0);
    await powerOf(1);
    expect(await rootsAsked(1)).toBe(before + 1);
  });

  it('is never remembered without an account, so that it tells whether the service is there', async () => {
    const anyone = () => client.service({ address: lab.addresses[1]!, port: lab.port, username: '', password: '' });
    expect((await anyone().root(signal)).path).toBe('/redfish/v1/');
    await lab.fault(1, { dead: 'refused' });
    await expect(anyone().root(signal)).rejects.toBeInstanceOf(Unreachable);
    await lab.fault(1, { dead: false });
  });
});

describe('a login that was refused', () => {
  const wrong = { password: 'wr0ng-password' };

  it('is not tried again at once, for no node and by no request', async () => {
    limited({ loginBrake: 600_000 });
    const before = (await lab.state(2)).refusedLogins;
    const attempts = [
      ...Array.from({ length: 50 }, () => powerOf(2, wrong)),
      ...['a', 'b', 'c'].map((node) => powerOf(2, { ...wrong, node })),
    ];
    for (const outcome of await Promise.allSettled(attempts)) expect(outcome.status).toBe('rejected');
    await expect(powerOf(2, wrong)).rejects.toMatchObject({ message: expect.stringMatching(/user "admin"/) });
    expect((await lab.state(2)).refusedLogins).toBe(before + 1);
    expect(await powerOf(2)).toBe('Off');
  });

  it('is tried again after a while', async () => {
    limited({ loginBrake: 500 });
    const before = (await lab.state(2)).refusedLogins;
    const refused = async (): Promise<number> => {
      await expect(powerOf(2, wrong)).rejects.toMatchObject({ kind: 'invalid' });
      return (await lab.state(2)).refusedLogins - before;
    };
    expect(await refused()).toBe(1);
    await expect.poll(refused).toBe(2);
  });

  it.each(['/redfish/v1/', '/s'])('nor where the password goes with the request to %s', async (guarded) => {
    const server = await scripted('127.111.9.1', ({ path, headers }) =>
      path === guarded || headers['authorization'] ? { status: 401 } : { status: 200, body: { Links: {} } },
    );
    const service = client.service({ address: '127.111.9.1', port: server.port, username: 'u', password: 'p' });
    for (let i = 0; i < 5; i++) await expect(service.get('/s', signal)).rejects.toMatchObject({ status: 401 });
    expect(server.asked.filter(({ headers }) => headers['authorization'])).toHaveLength(1);
    await server.stop();
  });
});

describe('nodes behind one service', () => {
  it('share its connection and session', async () => {
    const { sessionsOpened } = await lab.state(3);
    const nodes = ['a', 'b', 'c'];
    for (const node of nodes) await powerOf(3, { node });
    await Promise.all(nodes.map((node) => powerOf(3, { node })));
    expect(await lab.state(3)).toMatchObject({ sessionsOpened: sessionsOpened + 1, connections: 1 });
    const fingerprint = await lab.fingerprint(3);
    expect(nodes.map((node) => trust.fingerprints.get(node))).toEqual(nodes.map(() => fingerprint));
  });

  it('each trust only the certificate they know', async () => {
    trust.fingerprints.set('b', 'AA:BB');
    expect(await powerOf(3, { node: 'a' })).toBe('Off');
    const { length } = (await lab.state(3)).requests;
    await expect(powerOf(3, { node: 'b' })).rejects.toMatchObject({
      message: expect.stringMatching(/certificate .* has changed.* stored for b/),
    });
    expect((await lab.state(3)).requests).toHaveLength(length);
    expect(await powerOf(3, { node: 'a' })).toBe('Off');
    await lab.fault(3, { newCertificate: true });
    trust.fingerprints.delete('b');
    await expect(powerOf(3, { node: 'a' })).rejects.toMatchObject({ message: expect.stringMatching(/stored for a/) });
    expect(await powerOf(3, { node: 'b' })).toBe('Off');
  });

  it('are looked at too if they ask again while others learn a new certificate', async () => {
    for (const node of ['b', 'a']) await powerOf(3, { node });
    await lab.fault(3, { newCertificate: true });
    trust.fingerprints.delete('a');
    const [learning, kept] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    trust.learn = () => {
      learning.resolve();
      return kept.promise;
    };
    const a = powerOf(3, { node: 'a' });
    await learning.promise;
    const b = powerOf(3, { node: 'b' });
    const outcomes = Promise.allSettled([a, b]);
    kept.resolve();
    expect((await outcomes)[1]).toMatchObject({ reason: { message: expect.stringMatching(/stored for b/) } });
  });

  it('are each their own system', async () => {
    const link = (path: string) => ({ '@odata.id': path });
    const bodies: Record<string, unknown> = {
      '/redfish/v1/': { Systems: link('/s'), Links: {} },
      '/s': { Members: [link('/s/1'), link('/s/2')] },
      '/s/1': { Id: '1', HostName: 'left', PowerState: 'On' },
      '/s/2': { Id: '2', AssetTag: 'right', PowerState: 'Off' },
    };
    const server = await scripted('127.111.9.2', ({ path }) => ({ status: 200, body: bodies[path] }));
    const stateOf = async (key: string) => {
      const service = client.service({ key, address: '127.111.9.2', port: server.port, username: 'u', password: 'p' });
      return (await systemOf(service, { node: key }, signal)).body['PowerState'];
    };
    for (let i = 0; i < 2; i++) expect(await Promise.all(['left', 'right'].map(stateOf))).toEqual(['On', 'Off']);
    expect(client.size).toEqual({ services: 2, connections: 1 });
    await server.stop();
  });

  it('are forgotten with their passwords when they are not used', async () => {
    limited({ idle: 800 });
    await powerOf(3, { node: 'a' });
    await expect(powerOf(3, { node: 'b', password: 'wr0ng' })).rejects.toMatchObject({ kind: 'invalid' });
    const held = serviceOf(3, { node: 'a' });
    expect(client.size).toEqual({ services: 2, connections: 2 });
    await expect.poll(() => client.size).toEqual({ services: 0, connections: 0 });
    expect((await systemOf(held, { node: 'a' }, signal)).body['PowerState']).toBe('Off');
    expect(await powerOf(3, { node: 'c' })).toBe('Off');
    expect(client.size.connections).toBe(1);
  });
});

it('a session that cannot be used is closed again', async () => {
  await lab.fault(4, { tokenless: true });
  expect(await powerOf(4)).toBe('Off');
  const { sessionsOpened, openSessions } = await lab.state(4);
  expect({ sessionsOpened, openSessions }).toEqual({ sessionsOpened: 1, openSessions: 0 });
  await lab.fault(4, { tokenless: false });
});

describe('a change of what has changed since it was read', () => {
  const patches = (requests: readonly string[]) => requests.filter((line) => line.startsWith('PATCH')).length;

  it.each([
    [1, 2, undefined],
    [2, 2, /refused to change .* twice.* nothing was changed, try again later/],
  ])('that is refused %i times', async (outdated, sent, sentence) => {
    const system = await systemOf(serviceOf(5), { node: 'n5' }, signal);
    const before = patches((await lab.state(5)).requests);
    await lab.fault(5, { outdated });
    const patched = serviceOf(5).patch(system, { AssetTag: `tag ${outdated}` }, signal);
    if (sentence) await expect(patched).rejects.toMatchObject({ message: expect.stringMatching(sentence) });
    else await patched;
    expect(patches((await lab.state(5)).requests) - before).toBe(sent);
    await lab.fault(5, { outdated: 0 });
  });

  // What is read as a member of a collection has no ETag.
  it.each(['whole', 'as a member'])('is left alone when somebody else has changed the same: read %s', async (how) => {
    const service = serviceOf(5, { node: how });
    const member = await systemOf(service, { node: 'n5' }, signal);
    const system = how === 'whole' ? await service.get(member.path, signal) : member;
    await service.patch(await service.get(member.path, signal), { AssetTag: `theirs, ${how}` }, signal);
    await expect(service.patch(system, { AssetTag: 'mine' }, signal)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(/somebody else has changed .*Systems.*try again/),
    });
    expect((await service.get(member.path, signal)).body['AssetTag']).toBe(`theirs, ${how}`);
    await service.patch(system, { AssetTag: `theirs, ${how}` }, signal);
  });
});

it('what a task says comes without secrets', async () => {
  const said = 'No: p-word, new-p-word, public1 and dTpwLXdvcmQ= are weak.';
  const server = await scripted('127.111.9.3', ({ method, path }) => {
    if (method === 'PATCH') return { status: 202, headers: { location: '/monitor' } };
    if (path === '/monitor') return { status: 200, body: { TaskState: 'Exception', Messages: [{ Message: said }] } };
    return { status: 200, body: { Links: {} } };
  });
  const service = client.service({ address: '127.111.9.3', port: server.port, username: 'u', password: 'p-word' });
  const body = { Password: 'new-p-word', SNMP: { CommunityStrings: [{ CommunityString: 'public1' }] } };
  await expect(service.patch({ path: '/x', body: {}, etag: '"1"' }, body, signal)).rejects.toMatchObject({
    message: expect.stringMatching(/\(Exception\)\. No: \*\*\*, \S*\*\*\*, \*\*\* and \*\*\* are weak\./),
  });
  await server.stop();
});
