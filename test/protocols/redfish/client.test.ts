import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Unreachable } from '../../../src/core/errors.ts';
import { RedfishClient, type RedfishOptions } from '../../../src/protocols/redfish/client.ts';
import { memberResources } from '../../../src/protocols/redfish/collection.ts';
import { systemOf } from '../../../src/protocols/redfish/node-resources.ts';
import { type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { type MemoryTrust, memoryTrust } from './memory-trust.ts';
import { scripted } from './scripted.ts';

let lab: RedfishLab;
let trust: MemoryTrust;
let client: RedfishClient;
const signal = new AbortController().signal;

beforeAll(async () => {
  lab = await startRedfish({ count: 8, prefix: '127.60', port: 8443, kinds: ['plain'] });
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
const serviceOf = (index: number, password = 'secret') =>
  client.service({ key: `n${index}`, address: lab.addresses[index]!, port: lab.port, username: 'admin', password });
const powerOf = async (index: number, password?: string) =>
  (await systemOf(serviceOf(index, password), { node: `n${index}` }, signal)).body['PowerState'];

describe('sessions', () => {
  it('are opened once, used again, and none is left after close', async () => {
    for (let i = 0; i < 5; i++) expect(await powerOf(0)).toBe('Off');
    await Promise.all(Array.from({ length: 5 }, () => powerOf(0)));
    const { sessionsOpened, openSessions, connections, missed } = await lab.state(0);
    expect({ sessionsOpened, openSessions, connections, missed }).toEqual({
      sessionsOpened: 1,
      openSessions: 1,
      connections: 1,
      missed: [],
    });
    await client.close();
    expect(await lab.openSessions()).toBe(0);
  });

  it('are closed with their connection when unused', async () => {
    limited({ idle: 200 });
    await powerOf(1);
    expect((await lab.state(1)).openSessions).toBe(1);
    await expect.poll(() => lab.openSessions()).toBe(0);
    await expect.poll(async () => (await lab.state(1)).connections).toBe(0);
    expect(await powerOf(1)).toBe('Off');
  });

  it('are closed before their time where there are too many', async () => {
    limited({ kept: 2 });
    for (const index of [0, 1, 2, 3, 4]) await powerOf(index);
    await expect.poll(() => lab.openSessions()).toBe(2);
    await Promise.all([0, 1, 2, 3, 4].map((index) => powerOf(index)));
    await client.close();
    expect(await lab.openSessions()).toBe(0);
  });

  it('are opened again when the service has forgotten them', async () => {
    await powerOf(2);
    const { sessionsOpened } = await lab.state(2);
    await lab.fault(2, { forget: true });
    expect(await powerOf(2)).toBe('Off');
    expect((await lab.state(2)).sessionsOpened).toBe(sessionsOpened + 1);
  });

  it('are left by nobody who gives up during the login', async () => {
    const { sessionsOpened } = await lab.state(3);
    await lab.fault(3, { delay: 1_500 });
    const hasty = new AbortController();
    const asked = expect(serviceOf(3).get('/redfish/v1/Systems', hasty.signal)).rejects.toMatchObject({
      kind: 'deadline',
    });
    await expect.poll(async () => (await lab.state(3)).requests.at(-1)).toMatch(/^POST .*Sessions$/);
    hasty.abort(new DOMException('It takes too long.', 'TimeoutError'));
    await asked;
    await client.close();
    expect((await lab.state(3)).sessionsOpened).toBe(sessionsOpened + 1);
    expect(await lab.openSessions()).toBe(0);
    await lab.fault(3, { delay: 0 });
  });

  it('are closed at once even if a request hangs', async () => {
    await powerOf(4);
    await lab.fault(4, { dead: 'silent' });
    const hanging = expect(powerOf(4)).rejects.toMatchObject({ name: 'Fault' });
    await lab.fault(4, { dead: false });
    await client.close();
    await hanging;
    expect(await lab.openSessions()).toBe(0);
  });

  it('are done without where the service has none or no room', async () => {
    const root = { Systems: { '@odata.id': '/s' } };
    for (const [links, login] of [
      [{}, 201],
      [{ Sessions: { '@odata.id': '/sessions' } }, 405],
      [{ Sessions: { '@odata.id': '/sessions' } }, 503],
    ] as const) {
      const server = await scripted('127.60.9.1', ({ method, path }) =>
        method === 'POST'
          ? { status: login }
          : { status: 200, body: path === '/redfish/v1/' ? { ...root, Links: links } : {} },
      );
      const endpoint = { key: String(login), address: '127.60.9.1', port: server.port, username: 'u', password: 'p:w' };
      await client.service(endpoint).get('/s', signal);
      expect(server.asked.at(-1)!.headers['authorization']).toBe(`Basic ${Buffer.from('u:p:w').toString('base64')}`);
      await server.stop();
    }
  });
});

describe('a wrong password', () => {
  it('is told by name and tried once', async () => {
    const before = (await lab.state(5)).refusedLogins;
    const attempt = powerOf(5, 'wr0ng-password');
    await expect(attempt).rejects.toMatchObject({ kind: 'invalid', message: expect.stringMatching(/user "admin"/) });
    await expect(attempt).rejects.not.toMatchObject({ message: expect.stringContaining('wr0ng') });
    expect((await lab.state(5)).refusedLogins).toBe(before + 1);
  });
});

describe('certificates', () => {
  it('are learned at the first connection and must stay the same', async () => {
    await powerOf(6);
    const first = await lab.fingerprint(6);
    expect(trust.fingerprints.get('n6')).toBe(first);
    await client.close();
    await lab.fault(6, { newCertificate: true });
    const second = await lab.fingerprint(6);
    const requests = (await lab.state(6)).requests.length;
    client = new RedfishClient({ trust });
    const attempt = powerOf(6);
    for (const part of [first, second, 'remove the fingerprint stored for n6']) {
      await expect(attempt).rejects.toMatchObject({ kind: 'invalid', message: expect.stringContaining(part) });
    }
    expect((await lab.state(6)).requests.length).toBe(requests);
    trust.fingerprints.delete('n6');
    expect(await powerOf(6)).toBe('Off');
    expect(trust.fingerprints.get('n6')).toBe(second);
  });

  it('are compared whatever the case and with or without colons', async () => {
    trust.fingerprints.set('n6', (await lab.fingerprint(6)).replaceAll(':', '').toLowerCase());
    expect(await powerOf(6)).toBe('Off');
  });

  it('are vouched for by a configured authority instead', async () => {
    const server = await scripted('127.60.9.2', () => ({ status: 200, body: { Links: {} } }));
    const endpoint = { address: '127.60.9.2', port: server.port, username: 'u', password: 'p' };
    const vouched = new RedfishClient({ trust: memoryTrust(server.certificate) });
    expect((await vouched.service(endpoint).root(signal)).body).toEqual({ Links: {} });
    await expect(
      vouched.service({ ...endpoint, address: lab.addresses[0]!, port: lab.port }).root(signal),
    ).rejects.toMatchObject({ kind: 'invalid', message: expect.stringContaining('is not accepted') });
    await vouched.close();
    await server.stop();
  });
});

describe('a service that does not answer as it should', () => {
  it.each([
    [{ dead: 'refused' }, Unreachable, /nothing listens at 127.60.0.8:8443/],
    [{ dead: 'silent' }, Unreachable, /did not answer within \d+(\.\d)? s/],
    [{ garbage: true }, undefined, /is not JSON/],
    [{ unavailable: 50 }, undefined, /busy/],
  ] as const)('%o', async (fault, type, sentence) => {
    limited({ connectTimeout: 400, requestTimeout: 400 });
    await lab.fault(7, fault);
    const attempt = powerOf(7);
    await expect(attempt).rejects.toMatchObject({ message: expect.stringMatching(sentence) });
    if (type) await expect(attempt).rejects.toBeInstanceOf(type);
    await lab.fault(7, { dead: false, garbage: false, unavailable: 0 });
    expect(await powerOf(7)).toBe('Off');
  });

  it('is waited for if it is only slow', async () => {
    await lab.fault(7, { delay: 700 });
    expect(await powerOf(7)).toBe('Off');
    await lab.fault(7, { delay: 0 });
  });

  it('may close a kept connection at any time', async () => {
    await powerOf(7);
    await lab.fault(7, { dead: 'refused' });
    await lab.fault(7, { dead: false });
    expect(await powerOf(7)).toBe('Off');
  });

  it.each([
    ['plain text', 'hello\r\n\r\n', /does not speak HTTPS/],
    ['nothing', '', /closed the connection/],
  ])('speaks %s instead of TLS', async (_, text, sentence) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.resume().end(text);
    });
    await new Promise<void>((resolve) => server.listen(8_444, '127.60.9.3', resolve));
    const service = client.service({ address: '127.60.9.3', port: 8_444, username: 'u', password: 'p' });
    await expect(service.root(signal)).rejects.toMatchObject({ message: expect.stringMatching(sentence) });
    await new Promise((resolve) => server.close(resolve));
  });

  it('sends too much', async () => {
    limited({ responseSize: 1_000 });
    const server = await scripted('127.60.9.4', () => ({ status: 200, body: { a: 'x'.repeat(2_000) } }));
    const service = client.service({ address: '127.60.9.4', port: server.port, username: 'u', password: 'p' });
    await expect(service.root(signal)).rejects.toMatchObject({
      kind: 'garbled',
      message: expect.stringContaining('1000'),
    });
    await server.stop();
  });
});

describe('requests', () => {
  const basicRoot = { status: 200, body: { Links: {} } };
  const endpoint = (port: number) => ({ address: '127.60.9.5', port, username: 'u', password: 'p' });

  it('change what was read, or the newer state once more', async () => {
    let etag = '"1"';
    const server = await scripted('127.60.9.5', ({ method, headers }) => {
      if (method === 'GET') return { ...basicRoot, headers: { etag } };
      if (headers['if-match'] === etag) return { status: 204 };
      return { status: 412, body: { error: { '@Message.ExtendedInfo': [{ Message: 'It has changed.' }] } } };
    });
    const service = client.service(endpoint(server.port));
    const resource = await service.get('/x', signal);
    etag = '"2"';
    await service.patch(resource, { a: 1 }, signal);
    const patches = server.asked.filter(({ method }) => method === 'PATCH');
    expect(patches.map(({ headers, body }) => [headers['if-match'], body])).toEqual([
      ['"1"', '{"a":1}'],
      ['"2"', '{"a":1}'],
    ]);
    await server.stop();
  });

  it.each([
    ['a monitor that answers 202 until it is done', [{ status: 202 }, { status: 202 }, { status: 204 }], undefined],
    [
      'a task that is completed',
      [
        { status: 200, body: { TaskState: 'Running' } },
        { status: 200, body: { TaskState: 'Completed' } },
      ],
      undefined,
    ],
    ['a monitor that is gone', [{ status: 404 }], undefined],
    [
      'a task that fails',
      [{ status: 200, body: { TaskState: 'Exception', Messages: [{ Message: 'No disk.' }] } }],
      /\(Exception\). No disk./,
    ],
    ['a monitor that fails', [{ status: 500, body: { error: { message: 'Broken.' } } }], /\(500\). Broken./],
  ])('wait for %s', async (_, answers, sentence) => {
    const left = [...answers];
    const server = await scripted('127.60.9.5', ({ method, path }) => {
      if (method === 'POST') return { status: 202, headers: { location: 'https://elsewhere.example/monitor/1' } };
      return path === '/monitor/1' ? left.shift()! : basicRoot;
    });
    const acted = client.service(endpoint(server.port)).act('/do', {}, signal);
    if (sentence)
      await expect(acted).rejects.toMatchObject({ kind: 'invalid', message: expect.stringMatching(sentence) });
    else await acted;
    expect(left).toEqual([]);
    expect(server.asked.filter(({ method }) => method === 'POST')).toHaveLength(1);
    await server.stop();
  });

  it('follow redirections on the same service, but not for ever', async () => {
    const server = await scripted('127.60.9.5', ({ path }) => {
      if (path === '/old') return { status: 301, headers: { location: '/new' } };
      if (path === '/loop') return { status: 302, headers: { location: '/loop' } };
      return path === '/new' ? { status: 200, body: { a: 1 } } : basicRoot;
    });
    const service = client.service(endpoint(server.port));
    expect((await service.get('/old', signal)).body).toEqual({ a: 1 });
    await expect(service.get('/loop', signal)).rejects.toMatchObject({ message: expect.stringContaining('302') });
    await server.stop();
  });

  it('read collections page by page, but no page twice, and without $expand where it does not work', async () => {
    const features = { ProtocolFeaturesSupported: { ExpandQuery: { NoLinks: true } } };
    const server = await scripted('127.60.9.5', ({ path }) => {
      if (path === '/redfish/v1/') return { status: 200, body: { ...features, Links: {} } };
      if (path.includes('$expand')) return { status: 400 };
      if (path === '/c')
        return { status: 200, body: { Members: [{ '@odata.id': '/m/1' }], 'Members@odata.nextLink': '/c?2' } };
      if (path === '/c?2')
        return { status: 200, body: { Members: [{ '@odata.id': '/m/2' }, 7], 'Members@odata.nextLink': '/c' } };
      return path === '/m/1' ? { status: 200, body: { Id: '1' } } : { status: 404 };
    });
    const service = client.service(endpoint(server.port));
    expect((await memberResources(service, '/c', signal)).map(({ path, body }) => [path, body])).toEqual([
      ['/m/1', { Id: '1' }],
    ]);
    await server.stop();
  });

  it('that change something are never sent twice', async () => {
    const sent: string[] = [];
    const server = await scripted('127.60.9.5', async ({ method, path }) => {
      if (method === 'GET') return basicRoot;
      sent.push(path);
      return new Promise(() => {});
    });
    limited({ requestTimeout: 300 });
    await expect(client.service(endpoint(server.port)).act('/do', {}, signal)).rejects.toBeInstanceOf(Unreachable);
    expect(sent).toEqual(['/do']);
    await server.stop();
  });
});
