import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nsupdate, Site } from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await Site.start();
  await site.server.ok('POST', '/networks/ib', { net: '10.78.4.0', mask: '255.255.252.0', domain: 'ib.test' });
  await site.server.ok('POST', '/networks/six', { net: 'fd77:1::', mask: '/64' });
  await site.attribute('FQDNfirst', '1');
  await site.server.ok('POST', '/services/dns');
});
afterAll(() => site.stop());

const zones = [
  'cluster.test',
  'ib.test',
  '77.10.in-addr.arpa',
  '5.78.10.in-addr.arpa',
  '0.0.0.0.0.0.0.0.1.0.0.0.7.7.d.f.ip6.arpa',
];
const all = (): string[] => zones.flatMap((zone) => site.zone(zone));

const node = {
  ip: '10.77.10.1',
  hostnames: 'login,www.cluster.test',
  otherinterfaces: '-mgmt:10.77.11.1,far.cluster.test:10.77.12.1',
  'nicips.ib0': '10.78.5.1|fd77:1::51',
  'nichostnamesuffixes.ib0': '-ib|-ib6',
  'nicaliases.ib0': 'fast|fast6',
};
const records = [
  'd1.cluster.test. A 10.77.10.1',
  'login.cluster.test. CNAME d1.cluster.test.',
  'www.cluster.test. CNAME d1.cluster.test.',
  'd1-mgmt.cluster.test. A 10.77.11.1',
  'far.cluster.test. A 10.77.12.1',
  'd1-ib.ib.test. A 10.78.5.1',
  'fast.ib.test. CNAME d1-ib.ib.test.',
  'd1-ib6.cluster.test. AAAA fd77:1::51',
  'fast6.cluster.test. CNAME d1-ib6.cluster.test.',
  '1.10.77.10.in-addr.arpa. PTR d1.cluster.test.',
  '1.11.77.10.in-addr.arpa. PTR d1-mgmt.cluster.test.',
  '1.12.77.10.in-addr.arpa. PTR far.cluster.test.',
  '1.5.78.10.in-addr.arpa. PTR d1-ib.ib.test.',
  '1.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.0.7.7.d.f.ip6.arpa. PTR d1-ib6.cluster.test.',
].sort();

/** What others have, at names of ours too. */
const foreign = [
  'd1.cluster.test 60 A 10.77.10.200',
  'd1-ib.ib.test 60 TXT "theirs"',
  '1.10.77.10.in-addr.arpa 60 PTR their.corp.test.',
];

describe('all names of a node', () => {
  it('are there after POST and gone after DELETE, and nothing else', async () => {
    const before = all();
    await site.nodes({ d1: node });
    await site.server.ok('POST', '/nodes/d1/dns');
    expect(
      all()
        .filter((line) => !before.includes(line))
        .sort(),
    ).toEqual(records);
    await site.server.ok('DELETE', '/nodes/d1/dns');
    expect(all()).toEqual(before);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['the address has changed', () => site.server.ok('PUT', '/nodes/d1', { ip: '10.77.10.99' })],
    [
      'the aliases have changed',
      () => site.server.ok('PUT', '/nodes/d1', { hostnames: 'other', 'nicaliases.ib0': '' }),
    ],
    ['the interfaces have gone', () => site.server.ok('PUT', '/nodes/d1', { otherinterfaces: '', 'nicips.ib0': '' })],
    ['the domain of a network has changed', () => site.server.ok('PUT', '/networks/ib', { domain: 'new.test' })],
    ['a network has gone', () => site.server.ok('DELETE', '/networks/ib')],
    ['the domain of the site has changed', () => site.attribute('domain', 'moved.test')],
    ['its lines in the hosts file are gone', () => site.server.ok('DELETE', '/nodes/d1/host')],
  ])('are gone after DELETE, and nothing else, though %s', async (_what, change) => {
    await site.attribute('domain', 'cluster.test');
    await site.server.call('DELETE', '/networks/ib');
    await site.server.ok('POST', '/networks/ib', { net: '10.78.4.0', mask: '255.255.252.0', domain: 'ib.test' });
    await site.nodes({ d1: node });
    await site.server.ok('POST', '/services/dns');
    await site.server.ok('DELETE', '/nodes/d1/dns');
    nsupdate(site.port, site.keyFile, `update add ${foreign[0]}`);
    nsupdate(site.port, site.keyFile, `update add ${foreign[1]}`);
    nsupdate(site.port, site.keyFile, `update add ${foreign[2]}`);
    const before = all();
    await site.server.ok('POST', '/nodes/d1/dns');
    expect(all()).toHaveLength(before.length + records.length);
    await change();
    await site.server.ok('DELETE', '/nodes/d1/dns');
    expect(all()).toEqual(before);
  });
});
