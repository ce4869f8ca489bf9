import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { parseIp, parsePrefix } from '../../../src/core/ip.ts';
import type { DnsRecord } from '../../../src/names/ledger.ts';
import { isLater, nextSerial, renderZone } from '../../../src/names/dns/zone-file.ts';
import { recordsOfHost, reverseZones, zoneOf, zonesOf } from '../../../src/names/dns/zones.ts';
import { snapshotOf } from '../../harness/snapshot.ts';

describe('reverse zones of a network', () => {
  it.each([
    ['192.168.5.64/30', '64.5.168.192 65.5.168.192 66.5.168.192 67.5.168.192'],
    ['192.168.5.0/24', '5.168.192.in-addr.arpa'],
    ['192.168.5.7/32', '7.5.168.192.in-addr.arpa'],
    ['172.16.4.0/22', '4.16.172 5.16.172 6.16.172 7.16.172'],
    ['172.16.4.0/23', '4.16.172 5.16.172'],
    ['10.16.0.0/16', '16.10'],
    ['10.16.0.0/12', '16.10 17.10 18.10 19.10 20.10 21.10 22.10 23.10 24.10 25.10 26.10 27.10 28.10 29.10 30.10 31.10'],
    ['10.0.0.0/8', '10'],
    ['10.0.0.0/7', '10 11'],
    ['fd77:1::/64', '0.0.0.0.0.0.0.0.1.0.0.0.7.7.d.f.ip6.arpa'],
    ['fd77:1::/62', '0 1 2 3'],
    ['fd00::/8', 'd.f.ip6.arpa'],
    ['2001:db8::10/124', '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
    ['2001:db8::8/126', '8 9 a b'],
    ['127.0.0.0/8', ''],
    ['224.0.0.0/8', ''],
    ['fe80::/64', ''],
  ])('%s: %s', (network, expected) => {
    const zones = reverseZones(parsePrefix(network)!);
    if (expected.endsWith('.arpa') || expected === '') expect(zones.join(' ')).toBe(expected);
    else if (network.includes(':')) expect(zones.map((zone) => zone.split('.')[0]).join(' ')).toBe(expected);
    else expect(zones.map((zone) => zone.replace('.in-addr.arpa', '')).join(' ')).toBe(expected);
  });
});

const networks = (...rows: Record<string, string>[]) =>
  snapshotOf({ site: [{ key: 'domain', value: 'cluster.test' }], networks: rows });

describe('the zones of a site', () => {
  it('are its domain, those of its networks, and their reverse zones', () => {
    const snapshot = networks(
      { netname: 'a', net: '10.1.0.0', mask: '255.255.0.0', domain: 'A.Test.' },
      { netname: 'b', net: '10.1.4.0', mask: '255.255.255.0', ddnsdomain: 'dyn.test' },
      { netname: 'c', net: '10.1.4.1', mask: '255.255.255.0' },
      { netname: 'd', net: '127.0.0.0', mask: '255.0.0.0' },
    );
    const { names, warnings } = zonesOf(snapshot);
    expect([...names].sort()).toEqual(
      ['a.test', 'cluster.test', 'dyn.test', '1.10.in-addr.arpa', '4.1.10.in-addr.arpa'].sort(),
    );
    expect(warnings.map((text) => text.slice(0, 20))).toEqual(["Ignoring network 'c'", "Ignoring network 'd'"]);
    expect(zoneOf(names, '7.4.1.10.in-addr.arpa')).toBe('4.1.10.in-addr.arpa');
    expect(zoneOf(names, '7.5.1.10.in-addr.arpa')).toBe('1.10.in-addr.arpa');
    expect(zoneOf(names, 'xcluster.test')).toBeUndefined();
  });

  it('are of single addresses where a network is a part of /24, unless a larger one has them', () => {
    const alone = { netname: 'quarter', net: '10.1.4.64', mask: '255.255.255.192' };
    const inside = { netname: 'inside', net: '10.2.4.64', mask: '255.255.255.192' };
    const around = { netname: 'around', net: '10.2.0.0', mask: '255.255.0.0' };
    const { names } = zonesOf(networks(inside, alone, around));
    expect(names.size).toBe(2 + 64);
    expect(zoneOf(names, '64.4.1.10.in-addr.arpa')).toBe('64.4.1.10.in-addr.arpa');
    expect(zoneOf(names, '127.4.1.10.in-addr.arpa')).toBe('127.4.1.10.in-addr.arpa');
    expect(['63', '128'].map((last) => zoneOf(names, `${last}.4.1.10.in-addr.arpa`))).toEqual([undefined, undefined]);
    expect(zoneOf(names, '70.4.2.10.in-addr.arpa')).toBe('2.10.in-addr.arpa');
  });

  it.each(['a b', 'a"b', 'a\nb', 'a..b', '*.test', 'a;b', 'a'.repeat(300), 'x_y.test', '10.in-addr.arpa', '-a.test'])(
    'cannot be %j',
    (domain) => {
      const snapshot = networks({ netname: 'n', net: '10.0.0.0', mask: '255.0.0.0', domain });
      expect(() => zonesOf(snapshot)).toThrow(/^Network n, networks\.domain: .* cannot be a zone/);
    },
  );
});

describe('serial numbers', () => {
  const day = new Date('2026-11-15T10:00:00Z');
  it.each([
    [undefined, 2026111500],
    [2026111400, 2026111500],
    [2026111500, 2026111501],
    [2026111599, 2026111600],
    [2027010100, 2027010101],
    [1, 2026111500],
    [4294967295, 2026111500],
  ])('after %s comes %s', (previous, expected) => expect(nextSerial(day, previous)).toBe(expected));

  it('always come after the one before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 32 - 1 }), (previous) => {
        expect(isLater(nextSerial(day, previous), previous)).toBe(true);
      }),
    );
  });
});

describe('zone files', () => {
  const directory = mkdtempSync(join(tmpdir(), 'muster-zones-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Names as users might write them, good and bad. */
  const part = fc.oneof(
    fc.stringMatching(/^[a-z0-9-]{1,12}$/),
    fc.stringMatching(/^[A-Za-z0-9_.-]{1,70}$/),
    fc.string({ maxLength: 12 }),
    fc.constantFrom('*', '@', '$INCLUDE', ';', '"', '(', '\\', 'a\nb', '$TTL', 'localhost', '..', 'n1.'),
  );
  const name = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('.'));
  const goodName = fc.array(fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,10}[a-z0-9])?$/), { minLength: 1, maxLength: 3 });
  const domainName = fc.oneof(
    { weight: 5, arbitrary: goodName.map((labels) => labels.join('.')) },
    { weight: 1, arbitrary: name },
  );
  const address = fc.oneof(
    fc.ipV4().map((text) => text.replace(/^\d+/, '10')),
    fc.nat(65_535).map((n) => `fd77::${n.toString(16)}`),
  );

  it('are accepted by named-checkzone, whatever the names of hosts and domains are', () => {
    const host = fc.record({ name, aliases: fc.array(name, { maxLength: 3 }), ip: address });
    fc.assert(
      fc.property(fc.array(host, { maxLength: 12 }), fc.array(domainName, { maxLength: 3 }), (hosts, domains) => {
        const rows = domains.map((domain, i) => ({
          netname: `n${i}`,
          net: `10.${i}.0.0`,
          mask: '255.255.0.0',
          domain,
        }));
        const snapshot = networks(
          ...rows,
          { netname: 'ten', net: '10.0.0.0', mask: '255.0.0.0' },
          { netname: 'six', net: 'fd77::', mask: '/64' },
        );
        let zones;
        try {
          zones = zonesOf(snapshot);
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
          return;
        }
        const all: DnsRecord[] = [];
        const aliases = new Set<string>();
        for (const { name: own, aliases: others, ip } of hosts) {
          const records = recordsOfHost(snapshot, zones, { name: own, aliases: others, ip: parseIp(ip)! }, () => {});
          all.push(...records.filter(({ type }) => type !== 'CNAME'));
          // That names are not alias and host at once is the matter of another test.
          for (const record of records) if (record.type === 'CNAME') aliases.add(record.name);
        }
        const hostNames = new Set(all.map((record) => record.name));
        for (const alias of aliases)
          if (!hostNames.has(alias) && alias !== 'mn.cluster.test')
            all.push({ name: alias, type: 'CNAME', data: 'mn.cluster.test' });
        const server = {
          name: 'mn.cluster.test',
          address: { name: 'mn.cluster.test', type: 'A', data: '10.9.9.9' },
        } as const;
        for (const zone of zones.names) {
          const own = all.filter(
            (record) =>
              zoneOf(zones.names, record.name) === zone && (zone !== 'cluster.test' || record.name !== server.name),
          );
          const file = join(directory, 'db');
          writeFileSync(file, renderZone(zone, 1, server, zone === 'cluster.test', own));
          const output = execFileSync('named-checkzone', ['-i', 'local', '-k', 'fail', '-n', 'fail', zone, file], {
            encoding: 'utf8',
          });
          expect(output).toContain('OK');
        }
      }),
      { numRuns: 60 },
    );
  });
});

it('other names of hosts are not in reverse zones', () => {
  const snapshot = networks({ netname: 'n', net: '10.0.0.0', mask: '255.0.0.0' });
  const told: string[] = [];
  const records = (name: string, ...aliases: string[]): string[] =>
    recordsOfHost(snapshot, zonesOf(snapshot), { name, aliases, ip: parseIp('10.0.0.7')! }, (text) =>
      told.push(text),
    ).map((record) => `${record.name} ${record.type}`);
  expect(records('n7', '8.0.0.10.in-addr.arpa')).toEqual(['n7.cluster.test A', '7.0.0.10.in-addr.arpa PTR']);
  expect(records('8.0.0.10.in-addr.arpa')).toEqual([]);
  expect(told).toEqual([
    'Ignoring "8.0.0.10.in-addr.arpa", another name of n7.cluster.test: it is in no zone.',
    'Ignoring host "8.0.0.10.in-addr.arpa", 8.0.0.10.in-addr.arpa is in no zone of this site.',
  ]);
});
