import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitOf } from '../../harness/server.ts';
import { nsupdate, Site } from './site.ts';

let site: Site;
const nodes = Object.fromEntries(
  Array.from({ length: 400 }, (_, i) => [
    `k${i}`,
    { ip: `10.77.${30 + Math.floor(i / 200)}.${(i % 200) + 1}`, ...(i % 10 === 0 ? { hostnames: `alias${i}` } : {}) },
  ]),
);
beforeAll(async () => {
  site = await Site.start();
  await site.nodes(nodes);
  await site.server.ok('POST', '/services/dns');
});
afterAll(() => site.stop());

const forward = (): string[] =>
  Object.entries(nodes)
    .flatMap(([node, { ip, hostnames }]) => [
      `${node}.cluster.test. A ${ip}`,
      ...(hostnames ? [`${hostnames}.cluster.test. CNAME ${node}.cluster.test.`] : []),
    ])
    .sort();
const present = (): string[] => site.zone('cluster.test').filter((line) => /^(k|alias)\d/.test(line));
const backwards = (): number => site.zone('77.10.in-addr.arpa').filter((line) => line.includes(' PTR k')).length;

async function killMuster(): Promise<void> {
  const { child, client } = site.server;
  const ended = exitOf(child);
  child.kill('SIGKILL');
  await ended;
  client.close();
}

describe('named killed', () => {
  it('is started again by itself, with all records', async () => {
    const pid = site.namedPid();
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => site.namedPid() !== pid && present().length).toBe(forward().length);
    expect(present()).toEqual(forward());
  });

  it.each([0, 15])(
    '%i ms after the beginning of a request: it succeeds or is repeated, and all is there',
    async (delay) => {
      await site.server.ok('DELETE', '/nodes/all/dns');
      const request = site.server.call('POST', '/nodes/all/dns');
      await pause(delay);
      process.kill(site.namedPid(), 'SIGKILL');
      const { status } = await request;
      expect([201, 503]).toContain(status);
      if (status === 503) await site.server.ok('POST', '/nodes/all/dns');
      // The request may have ended before the kill; named is back a moment later.
      await expect.poll(present).toEqual(forward());
      expect(backwards()).toBe(400);
    },
  );
});

describe('muster killed', () => {
  it('leaves named serving, and the next one takes it over', async () => {
    const pid = site.namedPid();
    await killMuster();
    expect(site.dig('k1.cluster.test')).toEqual(['10.77.30.2']);
    await site.startMuster();
    await site.server.ok('POST', '/nodes/k1/dns');
    expect(site.namedPid()).toBe(pid);
  });

  it.each([0, 10, 40])('%i ms after the beginning of an addition: repeating completes it', async (delay) => {
    await site.server.ok('DELETE', '/nodes/all/dns');
    const request = site.server.call('POST', '/nodes/all/dns').catch(() => undefined);
    await pause(delay);
    await killMuster();
    await request;
    await site.startMuster();
    await site.server.ok('POST', '/nodes/all/dns');
    expect(present()).toEqual(forward());
  });

  it.each([0, 20])('%i ms after the beginning of a removal: repeating completes it', async (delay) => {
    nsupdate(site.port, site.keyFile, 'update add k5.cluster.test 60 A 10.77.99.99');
    const request = site.server.call('DELETE', '/nodes/all/dns').catch(() => undefined);
    await pause(delay);
    await killMuster();
    await request;
    await site.startMuster();
    await site.server.ok('DELETE', '/nodes/all/dns');
    expect(present()).toEqual(['k5.cluster.test. A 10.77.99.99']);
    await site.server.ok('POST', '/nodes/all/dns');
    nsupdate(site.port, site.keyFile, 'update delete k5.cluster.test A 10.77.99.99');
  });

  it.each([0, 45, 100])(
    '%i ms after the beginning of a set-up: named serves, and nothing acknowledged is lost',
    async (delay) => {
      await site.server.ok('DELETE', '/nodes/k7/dns');
      const before = site.serial('cluster.test');
      const request = site.server.call('POST', '/services/dns').catch(() => undefined);
      await pause(delay);
      await killMuster();
      await request;
      // It may be reading the zones just now.
      await expect.poll(() => site.dig('k1.cluster.test')).toEqual(['10.77.30.2']);
      await site.startMuster();
      await site.server.ok('POST', '/nodes/k7/dns');
      process.kill(site.namedPid(), 'SIGKILL');
      await expect.poll(() => site.dig('k7.cluster.test')).toEqual(['10.77.30.8']);
      expect(site.serial('cluster.test')).toBeGreaterThan(before);
      await site.server.ok('POST', '/services/dns');
      expect(present()).toEqual(forward());
    },
  );
});

it('named and muster killed together: the next one starts both again', async () => {
  await killMuster();
  process.kill(site.namedPid(), 'SIGKILL');
  await site.startMuster();
  await expect.poll(() => site.dig('k1.cluster.test').length).toBe(1);
});

describe('named that cannot be started', () => {
  it('is a clear error with its own words; the configuration stays, and the zones are as they were afterwards', async () => {
    await site.server.stop();
    const broken = join(site.data, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'named'), '#!/bin/sh\necho "no named today" >&2\nexit 3\n');
    chmodSync(join(broken, 'named'), 0o755);
    const conf = join(site.data, 'dns/named.conf');
    const before = readFileSync(conf, 'utf8');
    await site.startMuster({ PATH: `${broken}:${process.env['PATH']}` });
    const reply = await site.server.call('POST', '/services/dns');
    expect([reply.status, reply.json.error]).toEqual([
      503,
      ['named does not run.', expect.stringContaining('no named today')],
    ]);
    expect(readFileSync(conf, 'utf8')).toBe(before);
    const update = await site.server.call('POST', '/nodes/k1/dns');
    expect([update.status, update.json.error[0]]).toEqual([
      503,
      expect.stringMatching(/^The name server named at 127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/),
    ]);
    await site.server.stop();
    await site.startMuster();
    await expect.poll(() => site.dig('k1.cluster.test').length).toBe(1);
    expect(present()).toEqual(forward());
  });
});
