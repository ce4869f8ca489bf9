import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { EventClient, type EventOptions } from '../harness/events.ts';
import { written } from '../harness/output.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { addUser } from '../harness/users.ts';
import { freePort } from '../lab/nats.ts';
import { type RedfishLab, startRedfish } from '../lab/redfish.ts';
import { define, labNode } from './nodes.ts';

/** Places in the lab. */
const at = {
  stream: 0,
  push: 1,
  full: 2,
  silent: 3,
  moved: 4,
  flood: 5,
  hostile1: 6,
  hostile2: 7,
  hostile3: 8,
} as const;
type Name = keyof typeof at;
const names = Object.keys(at) as Name[];

const hostile = ['hostile1', 'hostile2', 'hostile3'] as const;

let lab: RedfishLab;
let server: TestServer;
let pushPort: number;
let trapPort: number;
const data = temporaryDirectory();
const clients: EventClient[] = [];
const others = 'https://elsewhere.example/in';

/** The log is read every ten seconds, and a stream that broke is asked for after five. */
const waitFor = (holds: () => boolean | Promise<boolean>): Promise<boolean> =>
  vi.waitUntil(holds, { timeout: 60_000, interval: 100 });

async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address();
  socket.close();
  return port;
}

const config = (): string => `[events]
hardware = "all"
logSeconds = 10
pushListen = ["127.0.0.1:${pushPort}"]
pushUrl = "https://127.0.0.1:${pushPort}/bmc"
trapListen = ["127.0.0.1:${trapPort}"]
trapCommunity = "quiet"
`;

beforeAll(async () => {
  [lab, pushPort, trapPort] = await Promise.all([
    startRedfish({ count: names.length, prefix: '127.86', kinds: ['plain'] }),
    freePort('127.0.0.1'),
    freeUdpPort(),
  ]);
  const stream = { stream: true, subscriptions: 0 };
  await lab.fault(at.stream, { events: stream });
  for (const name of hostile) await lab.fault(at[name], { events: stream });
  await lab.fault(at.flood, { events: stream });
  await lab.fault(at.push, { events: { stream: false, subscriptions: 2 } });
  await lab.fault(at.moved, { events: { stream: false, subscriptions: 2 } });
  await lab.fault(at.full, { events: { stream: false, subscriptions: 0 } });
  server = await startServer({ data, config: config() });
  await define(server, Object.fromEntries(names.map((name) => [name, labNode('redfish', lab.addresses[at[name]]!)])));
}, 60_000);

afterAll(async () => {
  for (const client of clients) client.close();
  await Promise.all([server?.stop(), lab?.stop()]);
  rmSync(data, { recursive: true, force: true });
});

async function listen(options: EventOptions = {}): Promise<EventClient> {
  const client = await EventClient.open(server, { query: { kinds: 'hardware' }, ...options });
  clients.push(client);
  await client.ready();
  return client;
}

const streams = async (name: Name): Promise<number> => (await lab.state(at[name])).streams;
const subscriptions = async (name: Name): Promise<readonly string[]> => (await lab.state(at[name])).subscriptions;
const event = (message: string, MessageSeverity = 'OK') => ({ EventId: '1', Message: message, MessageSeverity });
const says = (text: string) => (said: { message?: string }) => said.message?.includes(text) === true;

describe('a BMC with a stream of events', () => {
  it('has its events heard by those who may hear of the node, with how bad they are', async () => {
    const limited = await addUser(server, 'limited');
    await server.ok('PUT', '/tables/policy/rows/priority=7', {
      name: 'limited',
      commands: 'events',
      noderange: 'push',
      rule: 'allow',
    });
    const [all, some] = [await listen(), await listen({ token: limited })];
    await waitFor(async () => (await streams('stream')) === 1);
    await lab.report(at.stream, event('Fan 3 has\u001b[31m failed.', 'Critical'));
    const { event: kind, data: said } = await all.event(says('Fan 3'));
    expect(kind).toBe('hardware');
    expect(said).toEqual({
      kind: 'hardware',
      time: expect.stringMatching(/Z$/),
      severity: 'critical',
      message: expect.not.stringContaining('\u001b'),
      source: 'stream',
      nodes: ['stream'],
    });
    await waitFor(async () => (await subscriptions('push')).length > 0);
    await lab.report(at.push, event('Seen by both.'));
    await some.event(says('Seen by both'));
    expect(some.events.map(({ data: { nodes } }) => nodes)).toEqual([['push']]);
  });

  it('is followed again after it has restarted', async () => {
    const client = await listen();
    await lab.fault(at.stream, { dead: 'refused' });
    await lab.fault(at.stream, { dead: false, forget: true });
    await waitFor(async () => (await streams('stream')) === 1);
    await lab.report(at.stream, event('Back again.'));
    expect((await client.event(says('Back again'))).data).toMatchObject({ source: 'stream' });
  });

  it('that floods is passed on in bounds, and what is left out is said', async () => {
    const client = await listen();
    await waitFor(async () => (await streams('flood')) === 1);
    for (let sent = 0; sent < 100; sent++) await lab.report(at.flood, event('Flood.'));
    await waitFor(() => client.events.length >= 20);
    await waitFor(async () => {
      await lab.report(at.flood, event('Flood.'));
      return client.events.some(({ data: { message } }) => /left out: the BMC sends too many/.test(message as string));
    });
    expect(client.events.length).toBeLessThan(60);
  });

  it.each([
    [hostile[0], 'data: {"Events": [\n\n'],
    [hostile[1], `data: ${'x'.repeat(300_000)}`],
    [hostile[2], 'data: []\n\n'],
  ])(
    'that sends nonsense costs nobody anything: its event log is read instead (%s)',
    async (name, raw) => {
      await waitFor(async () => (await streams(name)) === 1);
      const before = (await lab.state(at[name])).requests.length;
      await lab.report(at[name], {}, raw);
      await waitFor(async () =>
        (await lab.state(at[name])).requests.slice(before).some((line) => /Entries/.test(line)),
      );
      expect(await streams(name)).toBe(0);
    },
    60_000,
  );
});

describe('a BMC without a stream', () => {
  it('gets one subscription with a token, which a stranger does not know', async () => {
    const client = await listen();
    await waitFor(async () => (await subscriptions('push')).length === 1);
    const [destination] = await subscriptions('push');
    expect(destination).toMatch(new RegExp(`^https://127\\.0\\.0\\.1:${pushPort}/bmc/[0-9a-f]{64}$`));
    expect(await subscriptions('moved')).not.toContain(destination);
    await lab.report(at.push, event('It is pushed.', 'Warning'));
    const { data: said } = await client.event(says('It is pushed'));
    expect(said).toMatchObject({ severity: 'warning', source: 'push', nodes: ['push'] });
    const send = (path: string, body: string, method = 'POST') =>
      promisify(execFile)('curl', ['-sk', '-o', '/dev/null', '-w', '%{http_code}', '-X', method, '-d', body, path]);
    expect((await send(destination!.slice(0, -1), '{}')).stdout).toBe('404');
    expect((await send(destination!, 'no JSON')).stdout).toBe('400');
    expect((await send(destination!, '{}', 'PUT')).stdout).toBe('405');
    expect(await written(server)).not.toContain(destination!.split('/').at(-1));
  });

  it('has one subscription after muster was killed, and that of others stays', async () => {
    const [before] = await subscriptions('push');
    await lab.subscribe(at.push, others);
    await server.kill();
    server = await startServer({ data, config: config() });
    const client = await listen();
    await waitFor(async () => {
      await lab.report(at.push, event('After the kill.'));
      return client.events.some(({ data: said }) => says('After the kill')(said as { message: string }));
    });
    expect(await subscriptions('push')).toEqual([before, others]);
  }, 60_000);

  it('is unsubscribed when its node has another BMC or none', async () => {
    await waitFor(async () => (await subscriptions('moved')).length === 1);
    await server.ok('PUT', '/nodes/moved', { bmc: '127.86.99.99' });
    await waitFor(async () => (await subscriptions('moved')).length === 0);
    await server.ok('PUT', '/nodes/moved', { bmc: lab.addresses[at.moved] });
    await waitFor(async () => (await subscriptions('moved')).length > 0);
    expect(await subscriptions('moved')).toHaveLength(1);
  }, 60_000);

  it.each(['full', 'silent'] as const)(
    'nor room for a subscription has its event log read (%s)',
    async (name) => {
      const client = await listen();
      let number = 0;
      await waitFor(async () => {
        await lab.log(at[name], `Entry ${++number} of ${name}: power supply lost.`, 'Critical');
        return client.events.some(({ data: said }) => says(`of ${name}`)(said as { message: string }));
      });
      const { data: said } = await client.event(says(`of ${name}`));
      expect(said).toMatchObject({ severity: 'critical', source: 'log', nodes: [name] });
    },
    90_000,
  );
});

describe('traps', () => {
  const trap = (from: string, community: string, version: '1' | '2c', ...words: readonly string[]) =>
    promisify(execFile)('snmptrap', [
      `--clientaddr=${from}`,
      '-v',
      version,
      '-c',
      community,
      `127.0.0.1:${trapPort}`,
      ...words,
    ]);
  /** Sensor 7, critical. */
  const pet = `${'00'.repeat(26)}100007${'00'.repeat(20)}`;
  const [petEnterprise, petValue] = ['1.3.6.1.4.1.3183.1.1', '1.3.6.1.4.1.3183.1.1.1'];
  // A temperature above its upper critical limit.
  const tooHot = String((0x01 << 16) | (0x01 << 8) | 9);

  it('of both versions become events; those of strangers and others do not', async () => {
    const client = await listen();
    const [known] = lab.addresses;
    await waitFor(async () => {
      await trap(known!, 'quiet', '2c', '', '1.3.6.1.6.3.1.1.5.1');
      return client.events.some(({ data: said }) => says('coldStart')(said as { message: string }));
    });
    await trap('127.86.200.1', 'quiet', '2c', '', '1.3.6.1.4.1.9999.1', '1.3.6.1.4.1.9999.2', 's', 'a stranger');
    await trap(known!, 'public', '2c', '', '1.3.6.1.4.1.9999.1', '1.3.6.1.4.1.9999.2', 's', 'no community');
    const socket = createSocket('udp4').bind(0, known);
    for (const garbage of ['', '\x30\x82\xff\xff', '\x30\x03\x02\x01\x00'])
      socket.send(Buffer.from(garbage, 'latin1'), trapPort, '127.0.0.1');
    await trap(known!, 'quiet', '1', petEnterprise, '127.0.0.1', '6', tooHot, '', petValue, 'x', pet);
    await trap(known!, 'quiet', '2c', '', `${petEnterprise}.0.${tooHot}`, petValue, 'x', pet);
    await trap(known!, 'quiet', '2c', '', '1.3.6.1.4.1.9999.1', '1.3.6.1.4.1.9999.2', 's', 'disk 4 failed');
    await client.event(says('disk 4 failed'));
    socket.close();
    const heard = client.events.map(({ data: said }) => said as { message: string; severity: string; source: string });
    expect(heard.filter(says('Temperature'))).toEqual(
      Array.from({ length: 2 }, () =>
        expect.objectContaining({
          severity: 'critical',
          source: 'trap',
          nodes: ['stream'],
          message: expect.stringMatching(/^Temperature: .*\(sensor 7\)$/),
        }),
      ),
    );
    expect(heard.filter(says('stranger'))).toEqual([]);
    expect(heard.filter(says('no community'))).toEqual([]);
  }, 60_000);
});

it('metrics say how BMCs are heard', async () => {
  const reply = await server.call('GET', '/metrics');
  expect(reply.text).toMatch(/muster_hardware_events_bmcs\{way="stream"\} [1-9]/);
});
