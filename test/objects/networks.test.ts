import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { parseIp } from '../../src/core/ip.ts';
import { brokenNetworks, domainOf, managementNode, networkOf, networksOf } from '../../src/objects/networks.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const snapshot = snapshotOf({
  site: [{ key: 'domain', value: 'site.example' }],
  networks: [
    { netname: 'all', net: '10.0.0.0', mask: '255.0.0.0', domain: 'all.example' },
    { netname: 'rack', net: '10.1.0.0', mask: '/24', domain: 'rack.example' },
    { netname: 'plain', net: '10.2.0.0', mask: '255.255.255.0' },
    { netname: 'six', net: 'fd00::', mask: '/64', domain: 'six.example' },
    { netname: 'off', net: '10.3.0.0', mask: '255.255.255.0', domain: 'off.example', disable: '1' },
    { netname: 'crooked', net: '10.4.0.1', mask: '255.255.255.0' },
    { netname: 'mixed', net: 'fd01::', mask: '255.255.255.0' },
    { net: 'nonsense', mask: '/24' },
  ],
});

describe('networks', () => {
  it('are those rows that are valid and enabled', () =>
    expect(networksOf(snapshot).map(({ name }) => name)).toEqual(['all', 'rack', 'plain', 'six']));

  it('that are broken are listed with the reason', () =>
    expect(brokenNetworks(snapshot)).toEqual([
      {
        name: 'crooked',
        reason:
          'its net 10.4.0.1 is not the first address of a network with mask 255.255.255.0, which would be 10.4.0.0',
      },
      { name: 'mixed', reason: 'its mask "255.255.255.0" is not a mask of an IPv6 network' },
      { name: 'nonsense-/24', reason: 'its net "nonsense" is not a network address' },
    ]));

  it.each([
    ['10.1.0.7', 'rack', 'rack.example'],
    ['10.1.1.7', 'all', 'all.example'],
    ['10.2.0.7', 'plain', 'site.example'],
    ['10.3.0.7', 'all', 'all.example'],
    ['192.168.0.1', undefined, 'site.example'],
    ['fd00::7', 'six', 'six.example'],
  ])('%s is in %s and its domain is %s', (text, name, domain) => {
    const ip = parseIp(text)!;
    expect(networkOf(snapshot, ip)?.name).toBe(name);
    expect(domainOf(snapshot, ip)).toBe(domain);
  });

  it('are read once for all snapshots that share them', () =>
    expect(networksOf(snapshot.apply([], 2))).toBe(networksOf(snapshot)));
});

describe('this machine', () => {
  const [short] = hostname().split('.', 1);
  const isMeantBy = (master: string, text: string): boolean =>
    managementNode(snapshotOf({ site: [{ key: 'master', value: master }] })).isMeantBy(text);

  it.each(['localhost', short!.toUpperCase(), `${short}.any.domain`, '127.0.0.1', '10.9.9.9'])(
    'is meant by %s',
    (text) => expect(isMeantBy('10.9.9.9', text)).toBe(true),
  );

  it('is meant by the name that the site has for it', () =>
    expect([isMeantBy('mgmt.cluster', 'mgmt'), isMeantBy('mgmt.cluster', 'sn1')]).toEqual([true, false]));

  it('is not meant by an address that it does not have', () => expect(isMeantBy('10.9.9.9', '10.9.9.8')).toBe(false));
});
