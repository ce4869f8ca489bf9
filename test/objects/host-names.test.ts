import { describe, expect, it } from 'vitest';
import { type Ip, ipText, parseIp } from '../../src/core/ip.ts';
import type { Row } from '../../src/database/tables.ts';
import { hostEntries } from '../../src/objects/host-names.ts';
import { snapshotOf } from '../harness/snapshot.ts';

const nobody = (): Promise<Ip | undefined> => Promise.resolve(undefined);

interface Given {
  readonly hosts?: Row;
  readonly nics?: Row;
  readonly domain?: string;
}

/** What a node n1 that is defined so has; n2 exists too. */
async function entriesOf({ hosts = {}, nics, domain = 'c.com' }: Given, resolve = nobody) {
  const snapshot = snapshotOf({
    nodelist: [
      { node: 'n1', groups: 'all' },
      { node: 'n2', groups: 'all' },
    ],
    hosts: [{ node: 'n1', ...hosts }],
    nics: nics ? [{ node: 'n1', ...nics }] : [],
    site: [{ key: 'domain', value: domain }],
  });
  const { entries, warnings } = await hostEntries(snapshot, ['n1'], resolve);
  return [...entries.map(({ ip, short, long, others }) => [ipText(ip), short, long, ...others].join(' ')), ...warnings];
}

const ip = '10.0.0.1';
const main = '10.0.0.1 n1 n1.c.com';

describe('the names and addresses of a node', () => {
  it.each<[string, Given, string[]]>([
    ['an address', { hosts: { ip } }, [main]],
    ['IPv6', { hosts: { ip: 'FD00::0:1' } }, ['fd00::1 n1 n1.c.com']],
    ['aliases', { hosts: { ip, hostnames: 'a, b c,,d.org' } }, [`${main} a b c d.org`]],
    ['another interface', { hosts: { ip, otherinterfaces: '-ib:11.0.0.1' } }, [main, '11.0.0.1 n1-ib n1-ib.c.com']],
    [
      'with "!"',
      { hosts: { ip, otherinterfaces: 'b1!11.0.0.1 -x!fd00::1' } },
      [main, '11.0.0.1 b1 b1.c.com', 'fd00::1 n1-x n1-x.c.com'],
    ],
    ['with its domain', { hosts: { ip, otherinterfaces: 'b1.d.org:11.0.0.1' } }, [main, '11.0.0.1 b1 b1.d.org']],
    ['a nic', { hosts: { ip }, nics: { nicips: 'eth1!11.0.0.1' } }, [main, '11.0.0.1 n1-eth1 n1-eth1.c.com']],
    ['a VLAN nic', { hosts: { ip }, nics: { nicips: 'b0.7!11.0.0.1' } }, [main, '11.0.0.1 n1-b0.7 n1-b0.7.c.com']],
    [
      'a nic with two addresses',
      { hosts: { ip }, nics: { nicips: 'e1!11.0.0.1|fd00::1', nichostnamesuffixes: 'e1!-x|-x', nicaliases: 'e1!a|b' } },
      [main, '11.0.0.1 n1-x n1-x.c.com a', 'fd00::1 n1-x n1-x.c.com b'],
    ],
    [
      'a nic with a prefix',
      { hosts: { ip }, nics: { nicips: 'e1!11.0.0.1', nichostnameprefixes: 'e1!fast-' } },
      [main, '11.0.0.1 fast-n1 fast-n1.c.com'],
    ],
    [
      'a nic that has its address',
      { hosts: { ip }, nics: { nicips: `e1!${ip}`, nicaliases: 'e1!a' } },
      [`${main} n1-e1 a`],
    ],
    [
      'a nic that has its address in another spelling',
      { hosts: { ip: 'fd00::1' }, nics: { nicips: 'e1!FD00:0::1' } },
      ['fd00::1 n1 n1.c.com n1-e1'],
    ],
    ['its own name as alias', { hosts: { ip, hostnames: 'N1 n1.c.com n2.org' } }, [`${main} n2.org`]],
    ['nothing', {}, ["Ignoring node 'n1', it can not be resolved."]],
    [
      'only a nic',
      { nics: { nicips: 'e1!11.0.0.1' } },
      ['11.0.0.1 n1-e1 n1-e1.c.com', "Ignoring node 'n1', it can not be resolved."],
    ],
  ])('with %s', async (_name, given, expected) => expect(await entriesOf(given)).toEqual(expected));

  it('that has no address are looked up, but a loopback address does not count', async () => {
    expect(await entriesOf({}, () => Promise.resolve(parseIp(ip)))).toEqual([main]);
    expect(await entriesOf({ nics: { nicips: `e1!${ip},e2!11.0.0.1` } }, () => Promise.resolve(parseIp(ip)))).toEqual([
      `${main} n1-e1`,
      '11.0.0.1 n1-e2 n1-e2.c.com',
    ]);
    expect(await entriesOf({}, () => Promise.resolve(parseIp('127.0.1.1')))).toEqual([
      "Ignoring node 'n1', it can not be resolved.",
    ]);
  });
});

describe('a value that would do harm is refused with the node and the attribute', () => {
  const long = 'x'.repeat(300);
  it.each<[string, Given, RegExp]>([
    [
      'a line break',
      { hosts: { ip, hostnames: 'a\n127.0.0.1' } },
      /Node n1, hosts\.hostnames: "127\.0\.0\.1" is an address/,
    ],
    ['a comment', { hosts: { ip, hostnames: '#a' } }, /Node n1, hosts\.hostnames: "#a" is not a host name/],
    ['a quote', { hosts: { ip, hostnames: 'a"b' } }, /Node n1, hosts\.hostnames: "a\\"b" is not a host name/],
    ['a NUL', { hosts: { ip, hostnames: 'a\0' } }, /Node n1, hosts\.hostnames: "a\\u0000" is not a host name/],
    ['a wildcard', { hosts: { ip, hostnames: '*' } }, /Node n1, hosts\.hostnames: "\*" is not a host name/],
    ['an umlaut', { hosts: { ip, hostnames: 'ä' } }, /Node n1, hosts\.hostnames: "ä" is not a host name/],
    ['an empty part', { hosts: { ip, hostnames: 'a..b' } }, /Node n1, hosts\.hostnames: "a\.\.b" is not a host name/],
    [
      'a long part',
      { hosts: { ip, hostnames: 'x'.repeat(64) } },
      /Node n1, hosts\.hostnames: "x+\.\.\." is not a host name/,
    ],
    ['a long name', { hosts: { ip, hostnames: long } }, /Node n1, hosts\.hostnames: "x{60}\.\.\." is longer than 253/],
    [
      'localhost',
      { hosts: { ip, hostnames: 'localhost' } },
      /Node n1, hosts\.hostnames: "localhost" belongs to the management/,
    ],
    [
      'localhost with a domain',
      { hosts: { ip, hostnames: 'LocalHost.c.com' } },
      /"LocalHost\.c\.com" belongs to the management/,
    ],
    [
      'another node in capitals',
      { hosts: { ip, hostnames: 'N2' } },
      /hosts\.hostnames: "N2" is the name of another node/,
    ],
    [
      'another node with its domain',
      { hosts: { ip, hostnames: 'n2.C.com' } },
      /hosts\.hostnames: "n2\.C\.com" is the name of another node/,
    ],
    ['another node', { hosts: { ip, hostnames: 'n2' } }, /Node n1, hosts\.hostnames: "n2" is the name of another node/],
    [
      'another node as interface',
      { hosts: { ip, otherinterfaces: 'n2:11.0.0.1' } },
      /hosts\.otherinterfaces: "n2" is the name of another/,
    ],
    [
      'an interface without address',
      { hosts: { ip, otherinterfaces: '-ib' } },
      /hosts\.otherinterfaces: "-ib" is not of the form/,
    ],
    [
      'an interface with a wrong one',
      { hosts: { ip, otherinterfaces: '-ib:x' } },
      /hosts\.otherinterfaces: "x" is not an IP address/,
    ],
    [
      'a leading zero',
      { hosts: { ip, otherinterfaces: '-ib:11.0.0.01' } },
      /hosts\.otherinterfaces: "11\.0\.0\.01" is not an IP/,
    ],
    [
      'a wrong nic address',
      { hosts: { ip }, nics: { nicips: 'e1!x' } },
      /Node n1, nicips\.e1: "x" is not an IP address/,
    ],
    [
      'a wrong nic suffix',
      { hosts: { ip }, nics: { nicips: 'e1!11.0.0.1', nichostnamesuffixes: 'e1!$x' } },
      /nichostnamesuffixes\.e1: "n1\$x\.c\.com" is not/,
    ],
    [
      'a wrong nic alias',
      { hosts: { ip }, nics: { nicips: 'e1!11.0.0.1', nicaliases: 'e1!a/b' } },
      /nicaliases\.e1: "a\/b" is not/,
    ],
    ['a loopback address', { hosts: { ip: '127.0.0.1' } }, /Node n1, hosts\.ip: 127\.0\.0\.1 is a loopback address/],
    ['a multicast address', { hosts: { ip: 'ff02::1' } }, /Node n1, hosts\.ip: ff02::1 is a multicast address/],
    [
      'the same address twice',
      { hosts: { ip, otherinterfaces: `-ib:${ip}` } },
      /Node n1, hosts\.otherinterfaces: n1 of node n1 has the address 10\.0\.0\.1 too/,
    ],
    ['the site domain', { hosts: { ip }, domain: 'c com' }, /Site attribute domain: "c com" is not a host name/],
    [
      'a long domain',
      { hosts: { ip }, domain: `${'d'.repeat(60)}.`.repeat(4).slice(0, -1) + '.example' },
      /Node n1, nodelist\.node: .* is longer than 253/,
    ],
  ])('%s', async (_name, given, message) => {
    await expect(entriesOf(given)).rejects.toThrow(message);
  });

  it('two nodes with one address', async () => {
    const snapshot = snapshotOf({
      nodelist: ['n1', 'n2'].map((node) => ({ node, groups: 'all' })),
      hosts: [{ node: 'all', ip: 'fd00::1' }],
      site: [{ key: 'domain', value: 'c.com' }],
    });
    await expect(hostEntries(snapshot, ['n1', 'n2'], nobody)).rejects.toThrow(
      'Node n2, hosts.ip: n1 of node n1 has the address fd00::1 too.',
    );
  });

  it('two nodes whose interfaces have one name', async () => {
    const given = (second: string) =>
      snapshotOf({
        nodelist: ['n1', 'n2'].map((node) => ({ node, groups: 'all' })),
        hosts: [
          { node: 'n1', ip, otherinterfaces: 'bmc:11.0.0.1' },
          { node: 'n2', ip: '10.0.0.2', otherinterfaces: second },
        ],
        site: [{ key: 'domain', value: 'c.com' }],
      });
    await expect(hostEntries(given('BMC:11.0.0.2'), ['n1', 'n2'], nobody)).rejects.toThrow(
      'Node n2, hosts.otherinterfaces: "BMC" is the name of an interface of node n1 too.',
    );
    expect((await hostEntries(given('-bmc:11.0.0.2 -bmc:11.0.0.3'), ['n1', 'n2'], nobody)).entries).toHaveLength(5);
  });

  it('the domain of a network', async () => {
    const snapshot = snapshotOf({
      nodelist: [{ node: 'n1', groups: 'all' }],
      hosts: [{ node: 'n1', ip }],
      networks: [{ netname: 'rack', net: '10.0.0.0', mask: '/8', domain: '-x' }],
    });
    await expect(hostEntries(snapshot, ['n1'], nobody)).rejects.toThrow(
      'Network rack, domain: "-x" is not a host name',
    );
  });
});
