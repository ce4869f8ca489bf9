import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Bus } from '../../src/bus/connection.ts';
import { busPlaces } from '../../src/bus/index.ts';
import { userNamed } from '../../src/names/index.ts';
import { readSubject, subjects } from '../../src/bus/subjects.ts';
import { createLog } from '../../src/core/log.ts';
import { said } from '../harness/output.ts';
import { temporaryDirectory } from '../harness/server.ts';
import { isAlive, type LabChild, startChild } from '../lab/child.ts';
import { dig, freePort } from '../names/dns/site.ts';
import { type BusCluster, startBusCluster, type TestWorker } from './cluster.ts';

const directory = temporaryDirectory();
/** Named may enter it as another user. */
const dnsDirectory = mkdtempSync(join(tmpdir(), 'muster-named-'));
chmodSync(dnsDirectory, 0o755);
const file = (name: string): string => join(directory, name);
const here = (port: number): string => `127.0.0.1:${port}`;

let cluster: BusCluster;
let worker: TestWorker;
let receiver: LabChild | undefined;
let serverDns: number;
let dns: number;
let syslog: number;
let receiverPort: number;

beforeAll(async () => {
  [serverDns, dns, syslog, receiverPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  cluster = await startBusCluster(['sn1'], {
    MUSTER_DNS_DAEMON: 'process',
    MUSTER_DNS_LISTEN: here(serverDns),
  });
  const { server } = cluster;
  const site = { domain: 'cluster.test', forwarders: '127.0.0.1', dnsforwardmode: 'only', master: '10.77.0.1' };
  for (const [name, value] of Object.entries(site))
    await server.ok('PUT', `/globalconf/attrs/${name}`, { [name]: value });
  await server.ok('POST', '/networks/net77', { net: '10.77.0.0', mask: '255.255.0.0' });
  await server.ok('PUT', '/nodes', {
    sn1: { groups: 'service', setupnameserver: '2', setupdhcp: '1' },
    n1: { groups: 'all', ip: '10.77.0.11' },
    n2: { groups: 'all', ip: '10.77.0.12' },
  });
  writeFileSync(
    file('receiver.conf'),
    `module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="${receiverPort}")\n*.* action(type="omfile" file="${file('received')}")\n`,
  );
  worker = await cluster.worker('sn1', {
    environment: {
      MUSTER_WORKER_DNS_LISTEN: here(dns),
      MUSTER_WORKER_DNS_DIRECTORY: dnsDirectory,
      MUSTER_WORKER_SYSLOG_LISTEN: here(syslog),
      MUSTER_WORKER_SYSLOG_SERVER: here(receiverPort),
    },
    waits: false,
  });
});
afterAll(async () => {
  await worker?.stop();
  await receiver?.stop();
  await cluster?.remove();
  for (const each of [directory, dnsDirectory]) rmSync(each, { recursive: true, force: true });
});

const processOf = (name: string): number =>
  Number.parseInt(readFileSync(join(worker.data, `bus/duties/sn1/${name}.process`), 'utf8'), 10);

const startReceiver = (): LabChild =>
  startChild('/usr/sbin/rsyslogd', ['-n', '-i', 'NONE', '-f', file('receiver.conf')], {
    directory,
    logFile: file('receiver.log'),
  });

const received = (): string => (existsSync(file('received')) ? readFileSync(file('received'), 'utf8') : '');

const log = (text: string, ...options: string[]): void => {
  execFileSync('logger', ['--server', '127.0.0.1', '--port', String(syslog), ...options, '--tag', 'node', text]);
};

test('the list of servers says what a worker cannot do, and how to change that', async () => {
  const { problem } = await cluster.listed('sn1', ({ problem: known }) => known?.includes('zones') === true);
  expect(problem).toContain('this muster has not set up DNS on the server: POST /services/dns.');
  expect(problem).toContain('It relays no DHCP requests, though setupdhcp is 1: set worker.dhcpInterfaces');
  await cluster.server.ok('PUT', '/nodes/sn1', { setupdhcp: '0' });
});

test('a worker answers with names of the cluster as the server has them, and follows changes', async () => {
  const { server } = cluster;
  await server.ok('POST', '/nodes/n1/host');
  await server.ok('POST', '/services/dns');
  await server.ok('POST', '/nodes/n1/dns');
  await cluster.listed('sn1', ({ serves = [], problem }) => serves.includes('dns') && problem === undefined);
  const address = (name: string) => () => dig(dns, `${name}.cluster.test`);
  await expect.poll(address('n1'), { timeout: 20_000 }).toEqual(['10.77.0.11']);
  await expect.poll(() => dig(dns, '-x', '10.77.0.11'), { timeout: 20_000 }).toEqual(['n1.cluster.test.']);
  await server.ok('POST', '/nodes/n2/host');
  await server.ok('POST', '/nodes/n2/dns');
  await expect.poll(address('n2'), { timeout: 30_000 }).toEqual(['10.77.0.12']);
});

test.runIf(process.getuid!() === 0)('the name server of a worker is not root, and changes nothing but zones', () => {
  const status = readFileSync(`/proc/${processOf('named')}/status`, 'utf8');
  const { uid } = userNamed('bind')!;
  expect(status).toMatch(new RegExp(`^Uid:\\s+${uid}\\s+${uid}\\s`, 'm'));
  const owners = execFileSync('stat', ['-c', '%a %U', dnsDirectory, `${dnsDirectory}/zones`], { encoding: 'utf8' });
  expect(owners).toBe('755 root\n700 bind\n');
  expect(execFileSync('sh', ['-c', `stat -c '%a %U %G' ${dnsDirectory}/named-*.conf`], { encoding: 'utf8' })).toBe(
    '640 root bind\n',
  );
});

test('the key of a worker copies zones and changes nothing', () => {
  const conf = execFileSync('sh', ['-c', `cat ${dnsDirectory}/named-*.conf`], { encoding: 'utf8' });
  const [, secret = ''] = /secret "([^"]+)"/.exec(conf)!;
  const key = ['-y', `hmac-sha256:muster-transfer:${secret}`];
  const copied = execFileSync('dig', ['@127.0.0.1', '-p', String(serverDns), ...key, 'cluster.test', 'AXFR']);
  expect(copied.toString()).toContain('n1.cluster.test.');
  const update = `server 127.0.0.1 ${serverDns}\nupdate add x.cluster.test 60 A 10.77.0.99\nsend\n`;
  expect(() => execFileSync('nsupdate', key, { input: update, stdio: 'pipe' })).toThrow('REFUSED');
});

test('a worker logs once that it cannot read what it is to serve', async () => {
  const { server, nats } = cluster;
  const { authority: ca, server: credentials } = busPlaces(server.data);
  const bus = new Bus({ servers: [nats.url], ca, credentials }, createLog('silent'));
  const instance = await new Promise<string>((resolve) =>
    bus.subscribe(subjects.allPresence, (subject) => resolve(readSubject(subject).instance)),
  );
  for (const text of ['{"service":"dns"}', '{"service":"dns"}', '{}'])
    bus.publish(subjects.duty('sn1', instance), Buffer.from(text));
  await bus.close();
  const { input: logged } = await said(worker, /\(2 bytes\), and the worker cannot read it/);
  expect(logged.match(/\(17 bytes\), and the worker cannot read it/g)).toHaveLength(1);
});

test('log messages of nodes reach the server, also those that came while it was away', async () => {
  log('by udp, nobody there yet', '--udp');
  log('by tcp, nobody there yet', '--tcp');
  receiver = startReceiver();
  await expect.poll(received, { timeout: 60_000 }).toContain('by tcp, nobody there yet');
  log('by udp, at once', '--udp');
  await expect.poll(received, { timeout: 30_000 }).toContain('by udp, at once');
  expect(received()).toContain('by udp, nobody there yet');
});

test('names stay known while the server is away, and daemons end with their worker', async () => {
  await cluster.server.stop();
  expect(() => dig(serverDns, '+tries=1', 'n1.cluster.test')).toThrow();
  expect(dig(dns, 'n1.cluster.test')).toEqual(['10.77.0.11']);
  const pids = ['named', 'rsyslogd'].map(processOf);
  expect(pids.map(isAlive)).toEqual([true, true]);
  await worker.stop();
  expect(pids.map(isAlive)).toEqual([false, false]);
});
