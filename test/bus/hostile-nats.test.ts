import { randomBytes } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { busPlaces } from '../../src/bus/places.ts';
import { written } from '../harness/output.ts';
import { startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';
import { labAccounts } from '../lab/addresses.ts';
import { type HostileNats, startHostileNats } from '../lab/hostile-nats.ts';
import { type LightLab, startLightBmcs } from '../lab/light-bmc.ts';
import { freePort } from '../lab/nats.ts';
import { isReady, launchWorker, type Listed, makeBusFiles, type TestWorker } from './cluster.ts';

const data = temporaryDirectory();
/** Of a process, in bytes; the floods below are larger. */
const mostMemory = 500 * 1024 * 1024;
const patience = { timeout: 60_000, interval: 200 };
let nats: HostileNats;
let environment: Readonly<Record<string, string>>;
let server: TestServer;
let worker: TestWorker;
let bmcs: LightLab;

beforeAll(async () => {
  const port = await freePort('127.0.0.1');
  await makeBusFiles(data, `127.0.0.1:${port}`, ['sn1']);
  const { certificate, key } = busPlaces(data);
  nats = await startHostileNats(certificate, key, port);
  environment = { MUSTER_BUS_SERVERS: `tls://127.0.0.1:${port}` };
  [server, bmcs] = await Promise.all([
    startServer({ data, environment }),
    startLightBmcs({ count: 1, prefix: '127.167', delay: 5 }),
  ]);
  worker = launchWorker('sn1', data, { environment });
  await isReady(worker);
  const { username, password } = labAccounts.administrator;
  await server.ok('PUT', '/nodes', {
    n1: {
      groups: 'all',
      mgt: 'ipmi',
      bmc: bmcs.addresses[0],
      bmcusername: username,
      bmcpassword: password,
      servicenode: 'sn1',
    },
  });
  await connected();
});
afterAll(async () => {
  await worker?.kill();
  await server?.stop();
  await Promise.all([bmcs?.stop(), nats?.stop()]);
  rmSync(data, { recursive: true, force: true });
});

const listed = async (): Promise<Listed[]> => (await server.ok('GET', '/servers')).servers;
const connected = async (): Promise<void> => {
  for (;;) {
    const entry = (await listed()).find(({ name }) => name === 'sn1');
    if (entry?.state === 'connected' && entry.problem === undefined) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
};
const commands = async (): Promise<number> => (await bmcs.state(0)).controls.length;
const memoryOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;

/** Both work, without having taken more memory than they may. */
async function isWell(): Promise<void> {
  for (const { child } of [server, worker]) {
    expect([child.exitCode, child.signalCode]).toEqual([null, null]);
    expect(memoryOf(child.pid!)).toBeLessThan(mostMemory);
  }
  expect(await server.ok('GET', '/nodes/n1/power')).toEqual({ n1: { power: expect.stringMatching(/^(on|off)$/) } });
}

test('it sees no job, no password and no result', async () => {
  await server.ok('PUT', '/nodes/n1/power', { action: 'on' });
  expect(await commands()).toBe(1);
  const jobs = nats.passed.filter(({ subject }) => subject.includes('.job.'));
  expect(jobs.length).toBeGreaterThan(3);
  const all = Buffer.concat(
    nats.passed.flatMap(({ subject, data: bytes }) => (subject.startsWith('muster.all') ? [] : [bytes])),
  );
  const { username, password } = labAccounts.administrator;
  for (const secret of [password, `"${username}"`, '"is":', 'rpower', bmcs.addresses[0]!, '"n1"'])
    expect(all.includes(secret)).toBe(false);
});

test('what it sends once more has no effect: no BMC gets a command twice', async () => {
  const before = nats.passed.splice(0);
  const again = async (): Promise<void> => {
    // In their order, and back again; then to other channels, and from the other side.
    for (const message of [...before, ...before.toReversed()]) nats.inject(message);
    for (const { subject, data: bytes } of before) {
      nats.inject({ subject: subject.replace(/\.\d+$/, '.77'), data: bytes });
      nats.inject({ subject: subject.replace('.to.', '.from.'), data: bytes });
      nats.inject({ subject: 'muster.all.server', data: bytes });
      nats.inject({ subject: 'x', data: bytes });
    }
    await isWell();
  };
  await again();
  expect(await commands()).toBe(1);
  // One that was started since knows nothing of what was sent before.
  await worker.kill();
  worker = launchWorker('sn1', data, { environment });
  await isReady(worker);
  await again();
  expect(await commands()).toBe(1);
  expect((await server.ok('GET', '/nodes/n1/power')).n1.power).toBe('on');
});

test('garbage in messages is dropped, with a few lines in the log', async () => {
  await connected();
  const subjects = [...new Set(nats.passed.map(({ subject }) => subject))].slice(0, 50);
  for (const subject of subjects)
    for (const size of [0, 1, 28, 29, 45, 1_000, 300_000]) nats.inject({ subject, data: randomBytes(size) });
  for (let round = 0; round < 20_000; round++)
    nats.inject({ subject: `muster.from.sn${round}.x.here`, data: Buffer.from('{"protocol":4}') });
  for (let round = 0; round < 20_000; round++)
    nats.inject({
      subject: 'muster.all.server',
      data: Buffer.from(JSON.stringify({ protocol: 4, version: '0.1.0', server: `s${round}` })),
    });
  await isWell();
  expect((await listed()).map(({ name }) => name).filter((name) => name.startsWith('sn'))).toEqual(['sn1']);
  const lines = (log: string): number => log.split('is not sealed as this version').length - 1;
  await expect.poll(() => lines(server.output()), patience).toBeGreaterThan(0);
  expect(lines(await written(server))).toBeLessThan(50);
  await worker.stop();
  expect(lines(worker.output())).toBeGreaterThan(0);
  expect(lines(worker.output())).toBeLessThan(50);
  worker = launchWorker('sn1', data, { environment });
  await isReady(worker);
  await connected();
});

/** What a server may say once a connection stands, and must not cost memory or the process. */
const lies: Readonly<Record<string, Buffer>> = {
  'a message as large as memory': Buffer.from(`MSG muster.all.server 1 99999999999\r\n${'x'.repeat(100_000)}`),
  'a message larger than any': Buffer.from(`MSG muster.all.server 1 90000000\r\n${'x'.repeat(100_000)}`),
  'a line without an end': Buffer.alloc(300_000, 'INFO {"x":"'),
  'no protocol': randomBytes(100_000),
  'a wrong end': Buffer.from('MSG muster.all.server 1 2\r\nabcdef\r\n'),
  'information that is none': Buffer.from('INFO null\r\n'),
  'members of the wrong kind': Buffer.from('INFO {"nonce":7,"max_payload":"x","connect_urls":{}}\r\n'),
  'a message with headers': Buffer.from('HMSG muster.all.server 1 12 12\r\nNATS/1.0\r\n\r\n\r\n'),
};

test.each(Object.entries(lies))('%s ends the connection, and the next one works', async (_what, bytes) => {
  const { made } = nats.connections();
  nats.raw(bytes);
  await expect.poll(() => nats.connections().made, patience).toBeGreaterThanOrEqual(made + 2);
  await connected();
  await isWell();
});

const greetings: Readonly<Record<string, { readonly greeting: (socket: Socket) => void; readonly problem: RegExp }>> = {
  'never answers': { greeting: () => undefined, problem: /timeout/ },
  'hangs up at once': { greeting: (socket) => void socket.destroy(), problem: /it closed the connection|reset/i },
  'is something else': { greeting: (socket) => void socket.write('HTTP/1.1 200 OK\r\n'), problem: /does not speak/ },
  'begins a line without end': { greeting: (socket) => void socket.write('INFO '.repeat(20_000)), problem: /too long/ },
  // A client that believes this sends its proof of the key and all messages in the clear.
  'talks it out of TLS': {
    greeting: (socket) =>
      void socket.write(
        'INFO {"server_id":"H","version":"2.9.0","proto":1,"max_payload":1048576,"tls_available":1,"nonce":"n"}\r\n',
      ),
    problem: /timeout/,
  },
};

test.each(Object.entries(greetings))(
  'a NATS server that %s is waited for, and the server works alone',
  async (_what, { greeting, problem }) => {
    const said: Buffer[] = [];
    nats.greeting = (socket) => {
      socket.on('data', (chunk: Buffer) => void said.push(chunk));
      greeting(socket);
    };
    const before = nats.connections().made;
    nats.hangUp();
    await expect
      .poll(async () => (await listed())[0]!.problem, patience)
      .toEqual(expect.stringMatching(new RegExp(`There is no connection to NATS .*(?:${problem.source})`, 'i')));
    await expect.poll(() => nats.connections().made, patience).toBeGreaterThan(before + 4);
    expect(nats.connections().open).toBeLessThan(6);
    await isWell();
    expect(Buffer.concat(said).toString('latin1')).not.toMatch(/CONNECT|nkey|sig/);
    nats.greeting = undefined;
    nats.hangUp();
    await connected();
  },
);

test('a job that it keeps back is done by the server', async () => {
  nats.passes = ({ subject }) => !subject.startsWith('muster.to.');
  expect(await server.ok('GET', '/nodes/n1/power')).toEqual({ n1: { power: 'on' } });
  await server.ok('PUT', '/nodes/n1/power', { action: 'off' });
  expect((await bmcs.state(0)).controls).toHaveLength(2);
  nats.passes = () => true;
});
