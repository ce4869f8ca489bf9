import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { IpmiClient } from '../../../src/protocols/ipmi/client.ts';
import { perAnswer } from '../../../src/protocols/ipmi/transport.ts';
import { answerPacket } from '../../lab/light-bmc/bmc.ts';
import { startUdpBmc } from './udp-bmc.ts';
import { chassisStatus, powerOn } from './world.ts';

const account = { username: 'admin', password: 'secret' } as const;
const { signal } = new AbortController();

let client: IpmiClient;

beforeEach(() => {
  client = new IpmiClient({ timeout: 2_000, firstRetry: 100, pings: [50, 100, 200] });
});

afterEach(async () => {
  await client.close();
});

test.each([
  ['an IPv4 address', '127.0.0.1', '127.0.0.1'],
  ['an IPv6 address', '::1', '::1'],
  ['an IPv6 address in another spelling', '::1', '0:0:0:0:0:0:0:1'],
  ['an IPv4 address in IPv6', '127.0.0.1', '::ffff:127.0.0.1'],
  ['a host name', '127.0.0.1', 'localhost'],
])('%s is talked to', async (_name, bound, address) => {
  await using bmc = await startUdpBmc(bound);
  // A host name may mean either family.
  await using other = await startUdpBmc(bound === '::1' ? '127.0.0.1' : '::1');
  const results = await Promise.allSettled(
    (address === 'localhost' ? [bmc, other] : [bmc]).map(({ port }) =>
      client.link({ ...account, address, port }).request(chassisStatus, signal),
    ),
  );
  const answered = results.filter(({ status }) => status === 'fulfilled');
  expect(answered).toHaveLength(1);
  expect(answered[0]).toMatchObject({ value: { code: 0 } });
});

test.each(['127.0.1', '2130706433', '0x7f.0.0.1', '127.0.0.01'])(
  '%s, which names another machine, is not talked to',
  async (address) => {
    await using bmc = await startUdpBmc('127.0.0.1');
    const link = client.link({ ...account, address, port: bmc.port });
    await expect(link.request(chassisStatus, signal)).rejects.toThrow(`"${address}" is neither an IP address nor`);
    await expect(client.ping(address, bmc.port, signal)).rejects.toThrow(`"${address}" is neither an IP address nor`);
    expect(bmc.senders).toEqual([]);
  },
);

test('there are as many sockets as it takes to keep an answer for every session', async () => {
  const share = 40;
  await client.close();
  // The system makes it twice as large as it was asked to.
  client = new IpmiClient({ receiveBuffer: (share * perAnswer) / 2 });
  const bmcs = await Promise.all(Array.from({ length: 2 * share + 1 }, () => startUdpBmc('127.0.0.1')));
  try {
    await Promise.all(
      bmcs.map(({ port }) => client.link({ ...account, address: '127.0.0.1', port }).request(chassisStatus, signal)),
    );
    expect(new Set(bmcs.flatMap(({ senders }) => senders)).size).toBe(3);
    expect(bmcs.map(({ bmc }) => bmc.sessions.size)).toEqual(bmcs.map(() => 1));
  } finally {
    for (const bmc of bmcs) await bmc[Symbol.asyncDispose]();
  }
});

test('all sessions use one socket, and links of one endpoint one session', async () => {
  await using one = await startUdpBmc('127.0.0.1');
  await using two = await startUdpBmc('127.0.0.1');
  const ask = (port: number) => client.link({ ...account, address: '127.0.0.1', port }).request(chassisStatus, signal);
  await Promise.all([ask(one.port), ask(two.port), ask(one.port), ask(two.port), ask(one.port)]);
  expect(new Set([...one.senders, ...two.senders]).size).toBe(1);
  expect([one.bmc.sessions.size, two.bmc.sessions.size]).toEqual([1, 1]);
  expect([one.senders.length, two.senders.length]).toEqual([6, 5]);
});

test('another account gets a session of its own', async () => {
  await using bmc = await startUdpBmc('127.0.0.1');
  const place = { address: '127.0.0.1', port: bmc.port };
  await client.link({ ...account, ...place }).request(chassisStatus, signal);
  await client.link({ ...place, username: 'viewer', password: 'viewpw' }).request(chassisStatus, signal);
  expect(bmc.bmc.sessions.size).toBe(2);
});

test('packets from elsewhere are ignored, even with the right session id', async () => {
  await using stranger = await startUdpBmc('127.0.0.1');
  let refusals = 0;
  await using bmc = await startUdpBmc('127.0.0.1', (light, packet) => {
    const reply = answerPacket(light, packet);
    if (reply && packet[5] === 0x10) {
      const refusal = Buffer.from(reply.subarray(0, 24));
      refusal[17] = 0x01;
      refusal.writeUInt16LE(8, 14);
      refusals++;
      stranger.socket.send(refusal, bmc.senders.at(-1), '127.0.0.1');
    }
    return reply;
  });
  const { code } = await client
    .link({ ...account, address: '127.0.0.1', port: bmc.port })
    .request(chassisStatus, signal);
  expect(code).toBe(0);
  expect(refusals).toBe(1);
});

test('closing the client closes its sessions at once', async () => {
  await using bmc = await startUdpBmc('127.0.0.1');
  const link = client.link({ ...account, address: '127.0.0.1', port: bmc.port });
  await link.request(powerOn, signal);
  expect(bmc.bmc.sessions.size).toBe(1);
  await client.close();
  await expect.poll(() => bmc.bmc.sessions.size).toBe(0);
  await expect(link.request(chassisStatus, signal)).rejects.toMatchObject({ kind: 'unavailable' });
});

test('an idle session is closed, and the next request opens another', async () => {
  await client.close();
  client = new IpmiClient({ idle: 100 });
  await using bmc = await startUdpBmc('127.0.0.1');
  const link = client.link({ ...account, address: '127.0.0.1', port: bmc.port });
  await link.request(chassisStatus, signal);
  await expect.poll(() => bmc.bmc.sessions.size).toBe(0);
  await link.request(chassisStatus, signal);
  expect(bmc.bmc.sessions.size).toBe(1);
});

test.each([
  ['an anonymous user', { username: '' }],
  ['no password', { password: '' }],
  ['a password that is too long', { password: 'x'.repeat(21) }],
  ['suite 0', { suites: [0 as 3] }],
])('%s is refused before any packet', async (_name, change) => {
  await using bmc = await startUdpBmc('127.0.0.1');
  const link = client.link({ ...account, address: '127.0.0.1', port: bmc.port, ...change });
  await expect(link.request(chassisStatus, signal)).rejects.toThrow(Fault);
  await pause(20);
  expect(bmc.senders).toEqual([]);
});

test('a BMC that answers garbage', async () => {
  await using bmc = await startUdpBmc('127.0.0.1', () => Buffer.from('no, thank you'));
  const link = client.link({ ...account, address: '127.0.0.1', port: bmc.port });
  await expect(link.request(chassisStatus, signal)).rejects.toMatchObject({ kind: 'garbled' });
});

test('an address to which nothing can be sent is known without waiting for an answer', async () => {
  const link = client.link({ ...account, address: '255.255.255.255' });
  await expect(link.request(chassisStatus, signal)).rejects.toThrow(/cannot be reached \((EACCES|ENETUNREACH)\)/);
});

test('after an abort no packet follows', async () => {
  await using bmc = await startUdpBmc('127.0.0.1', () => undefined);
  const controller = new AbortController();
  const asked = client
    .link({ ...account, address: '127.0.0.1', port: bmc.port })
    .request(chassisStatus, controller.signal);
  const refused = expect(asked).rejects.toThrow('The client left.');
  await expect.poll(() => bmc.senders.length).toBeGreaterThan(0);
  controller.abort(new Fault('unavailable', 'The client left.'));
  await refused;
  // What was sent before has arrived when this has.
  const last = createSocket('udp4').bind(0, '127.0.0.1');
  await once(last, 'listening');
  last.send('the last', bmc.port, '127.0.0.1');
  await expect.poll(() => bmc.senders).toContain(last.address().port);
  last.close();
  const count = bmc.senders.length;
  await pause(500);
  expect(bmc.senders).toHaveLength(count);
});

describe('a presence ping', () => {
  test('finds what speaks IPMI', async () => {
    await using bmc = await startUdpBmc('127.0.0.1');
    await using six = await startUdpBmc('::1');
    expect(await client.ping('127.0.0.1', bmc.port, signal)).toBe(true);
    expect(await client.ping('::1', six.port, signal)).toBe(true);
  });

  test('is sent again when it is lost', async () => {
    let count = 0;
    await using bmc = await startUdpBmc('127.0.0.1', (light, packet) =>
      ++count < 2 ? undefined : answerPacket(light, packet),
    );
    expect(await client.ping('127.0.0.1', bmc.port, signal)).toBe(true);
  });

  test('of something silent or without IPMI finds nothing', async () => {
    await using silent = await startUdpBmc('127.0.0.1', () => undefined);
    await using other = await startUdpBmc('127.0.0.1', (light, packet) => {
      const pong = answerPacket(light, packet)!;
      pong[20] = 0x01;
      return pong;
    });
    const ports = [silent.port, other.port];
    expect(await Promise.all(ports.map((port) => client.ping('127.0.0.1', port, signal)))).toEqual([false, false]);
  });

  test('can be ended', async () => {
    await using silent = await startUdpBmc('127.0.0.1', () => undefined);
    const asked = client.ping('127.0.0.1', silent.port, AbortSignal.timeout(20));
    await expect(asked).rejects.toThrow(Fault);
  });
});

/** Keeps this process from doing anything else. */
function block(milliseconds: number): void {
  const until = performance.now() + milliseconds;
  while (performance.now() < until);
}

test('an answer that came while this process was busy past the deadline is heard', async () => {
  await using bmc = await startUdpBmc('127.0.0.1');
  const link = client.link({ ...account, address: '127.0.0.1', port: bmc.port });
  await link.request(chassisStatus, signal);
  const asked = link.request(chassisStatus, signal);
  // The BMC is in this process, so that it too answers only after that.
  block(2_500);
  expect(await asked).toMatchObject({ code: 0 });
});

test('a BMC that is silent is found so within its timeout, as long as this process listens', async () => {
  await using bmc = await startUdpBmc('127.0.0.1', () => undefined);
  const link = client.link({ ...account, address: '127.0.0.1', port: bmc.port });
  await expect(link.request(chassisStatus, signal)).rejects.toThrow(/did not answer within 2(\.\d)? s/);
});
