import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { dutiesOf } from '../../src/bus/index.ts';
import { createLog } from '../../src/core/log.ts';
import { Duties } from '../../src/worker/duties/duties.ts';
import { isTaken, listensOn, receivesAt } from '../../src/worker/duties/sockets.ts';

/** A process that listens nowhere. */
function idler(): number {
  const child = spawn('sleep', ['600']);
  onTestFinished(() => void child.kill());
  return child.pid!;
}

async function listener(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

it.each([
  ['127.0.0.1', '127.0.0.1', '127.0.0.2'],
  ['127.0.0.1', '0.0.0.0', '127.0.0.2'],
  ['::1', '::1', '::2'],
])('a process that listens on %s counts for %s, not for %s, and no other process does', async (at, host, elsewhere) => {
  const port = await listener(at);
  const other = idler();
  expect(listensOn({ host, port }, process.pid)).toBe(true);
  expect(listensOn({ host: elsewhere, port }, process.pid)).toBe(false);
  expect(listensOn({ host, port }, other)).toBe(false);
  expect(isTaken({ host: at, port }, other)).toBe(true);
  expect(isTaken({ host: at, port }, process.pid)).toBe(false);
  expect(isTaken({ host: elsewhere, port }, other)).toBe(false);
});

it('a port is taken by one who listens everywhere', async () => {
  const port = await listener('0.0.0.0');
  expect(isTaken({ host: '127.0.0.1', port }, idler())).toBe(true);
});

it('a port of UDP counts for the process that has it', async () => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  onTestFinished(() => void socket.close());
  await once(socket, 'listening');
  const { port } = socket.address();
  expect([receivesAt(port, process.pid), receivesAt(port, idler())]).toEqual([true, false]);
});

it('a worker whose port another program has does not serve, and says so', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'muster-sockets-'));
  const port = await listener('127.0.0.1');
  const here = { host: '127.0.0.1', port };
  const duties = new Duties({
    settings: { syslogListen: [here], syslogServer: here },
    directory,
    log: createLog('silent'),
    changed: () => undefined,
  });
  onTestFinished(async () => {
    await duties.close();
    rmSync(directory, { recursive: true });
  });
  const wanted = dutiesOf({ dhcp: null, syslog: { servers: [] } }, 1);
  duties.take(wanted.find(({ service }) => service === 'syslog')!);
  await expect
    .poll(() => [...duties.serves, ...duties.problems])
    .toEqual([
      `rsyslogd cannot listen on 127.0.0.1:${port}, because another program does. Run "ss -lntp" on this machine to see which, and stop it.`,
    ]);
});
