import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Ledger } from '../../../src/names/ledger.ts';
import { Site } from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await Site.start();
  await site.server.ok('POST', '/networks/six', { net: 'fd77::', mask: '/64' });
  await site.server.ok('POST', '/services/dns');
});
afterAll(() => site.stop());

const zones = ['cluster.test', '77.10.in-addr.arpa', '0.0.0.0.0.0.0.0.0.0.0.0.7.7.d.f.ip6.arpa'];
/** All records with one of the words in them. */
const shown = (words: RegExp): string[] => zones.flatMap((zone) => site.zone(zone)).filter((line) => words.test(line));
const noted = (node: string): string[] =>
  Array.from(new Ledger(`${site.data}/dns/records-local.jsonl`).of(node).values(), ({ name }) => name);

/** Behind a larger request, so that they are waiting when it has been served, and go out together. */
async function together(...requests: [method: string, path: string][]): Promise<void> {
  const larger = site.server.ok('POST', '/nodes/busy/dns');
  await pause(5);
  await Promise.all([larger, ...requests.map(([method, path]) => site.server.ok(method, path))]);
}

describe('requests at the same time', () => {
  beforeAll(() =>
    site.nodes(
      Object.fromEntries(
        Array.from({ length: 400 }, (_, i) => [
          `w${i}`,
          { ip: `10.77.${50 + (i >> 7)}.${(i & 127) + 1}`, groups: 'all,busy' },
        ]),
      ),
    ),
  );

  it('remove what their nodes had in common', async () => {
    await site.nodes({ s1: { ip: '10.77.2.1', otherinterfaces: 'vip:10.77.2.9' }, s2: { ip: '10.77.2.2' } });
    await site.server.ok('POST', '/nodes/s1,s2/dns');
    await site.nodes({ s1: { otherinterfaces: '' }, s2: { otherinterfaces: 'vip:10.77.2.9' } });
    await site.server.ok('POST', '/nodes/s2/dns');
    await together(['DELETE', '/nodes/s1/dns'], ['DELETE', '/nodes/s2/dns']);
    expect(shown(/s[12]|vip/)).toEqual([]);
  });

  it('give a name to one node and remove the one that had it', async () => {
    await site.nodes({ t1: { ip: '10.77.3.1', hostnames: 'login' }, t2: { ip: '10.77.3.2' } });
    await site.server.ok('POST', '/nodes/t1,t2/dns');
    await site.nodes({ t1: { hostnames: '' }, t2: { hostnames: 'login' } });
    await together(['DELETE', '/nodes/t1/dns'], ['POST', '/nodes/t2/dns']);
    expect(shown(/t1|login/)).toEqual(['login.cluster.test. CNAME t2.cluster.test.']);
    expect(noted('t1')).toEqual([]);
  });
});

describe('one request', () => {
  it('exchanges names and addresses of two nodes', async () => {
    await site.nodes({
      u1: { ip: '10.77.4.1', hostnames: 'ua,ub' },
      u2: { ip: '10.77.4.2', hostnames: 'uc', otherinterfaces: '-ib:10.77.4.22' },
    });
    await site.server.ok('POST', '/nodes/u1,u2/dns');
    await site.nodes({
      u1: { ip: '10.77.4.2', hostnames: 'uc', otherinterfaces: 'u2-ib:10.77.4.1' },
      u2: { ip: '10.77.4.22', hostnames: 'ua,ub', otherinterfaces: '' },
    });
    await site.server.ok('POST', '/nodes/u1,u2/dns');
    expect(shown(/\bu/)).toEqual([
      'u1.cluster.test. A 10.77.4.2',
      'u2-ib.cluster.test. A 10.77.4.1',
      'u2.cluster.test. A 10.77.4.22',
      'ua.cluster.test. CNAME u2.cluster.test.',
      'ub.cluster.test. CNAME u2.cluster.test.',
      'uc.cluster.test. CNAME u1.cluster.test.',
      '1.4.77.10.in-addr.arpa. PTR u2-ib.cluster.test.',
      '2.4.77.10.in-addr.arpa. PTR u1.cluster.test.',
      '22.4.77.10.in-addr.arpa. PTR u2.cluster.test.',
    ]);
    await site.server.ok('DELETE', '/nodes/u1,u2/dns');
    expect(shown(/\bu/)).toEqual([]);
  });

  it('makes a host with several addresses of an alias, and an alias of it again', async () => {
    await site.nodes({ d1: { ip: '10.77.5.1', hostnames: 'web' } });
    await site.server.ok('POST', '/nodes/d1/dns');
    await site.nodes({ d1: { hostnames: '', otherinterfaces: 'web:10.77.5.2,web:fd77::2,web:10.77.5.3' } });
    await site.server.ok('POST', '/nodes/d1/dns');
    expect(shown(/^web/)).toEqual([
      'web.cluster.test. A 10.77.5.2',
      'web.cluster.test. A 10.77.5.3',
      'web.cluster.test. AAAA fd77::2',
    ]);
    await site.nodes({ d1: { hostnames: 'web', otherinterfaces: '' } });
    await site.server.ok('POST', '/nodes/d1/dns');
    expect(shown(/web/)).toEqual(['web.cluster.test. CNAME d1.cluster.test.']);
  });

  it('moves more aliases than one message holds from node to node', async () => {
    const aliasesOf = (i: number): string =>
      Array.from({ length: 100 }, (_, k) => `${'x'.repeat(50)}-${i % 20}-${k}.${'y'.repeat(60)}`)
        .map((name) => `${name}.cluster.test`)
        .join(',');
    const defined = (shift: number): Promise<void> =>
      site.nodes(
        Object.fromEntries(
          Array.from({ length: 20 }, (_, i) => [
            `v${i}`,
            { ip: `10.77.6.${i + 1}`, hostnames: i % 2 ? aliasesOf(i + shift) : '' },
          ]),
        ),
      );
    for (const shift of [0, 2]) {
      await defined(shift);
      await site.server.ok('POST', '/nodes/v0-v19/dns');
      const aliases = shown(/ CNAME v/);
      expect(aliases).toHaveLength(1_000);
      expect(aliases.filter((line) => line.startsWith(`${'x'.repeat(50)}-${1 + shift}-`))).toEqual(
        aliases.filter((line) => line.endsWith(' v1.cluster.test.')),
      );
    }
    await site.server.ok('DELETE', '/nodes/v0-v19/dns');
    expect(shown(/v\d/)).toEqual([]);
  });
});

describe('a node that was renamed', () => {
  const rename = (from: string, to: string) => site.server.ok('PUT', `/nodes/${from}/rename`, { newNode: to });

  it('takes its old name out of DNS, and may keep it as an alias', async () => {
    await site.nodes({ r1: { ip: '10.77.7.1', hostnames: 'rx' } });
    await site.server.ok('POST', '/nodes/r1/dns');
    await rename('r1', 'r2');
    await site.nodes({ r2: { hostnames: 'rx,r1' } });
    await site.server.ok('POST', '/nodes/r2/dns');
    expect(shown(/\br/)).toEqual([
      'r1.cluster.test. CNAME r2.cluster.test.',
      'r2.cluster.test. A 10.77.7.1',
      'rx.cluster.test. CNAME r2.cluster.test.',
      '1.7.77.10.in-addr.arpa. PTR r2.cluster.test.',
    ]);
  });

  it('can be taken out under its new name', async () => {
    await rename('r2', 'r3');
    await site.server.ok('DELETE', '/nodes/r3/dns');
    expect(shown(/\br/)).toEqual([]);
  });
});
