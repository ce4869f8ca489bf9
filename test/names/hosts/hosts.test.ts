import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Hosts } from '../../../src/names/hosts/hosts.ts';
import { snapshotOf } from '../../harness/snapshot.ts';

let directory: string;
let hostsFile: string;
let hosts: Hosts;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-hosts-'));
  hostsFile = join(directory, 'hosts');
  hosts = new Hosts({ hostsFile, lookup: false }, dirname(hostsFile));
  writeFileSync(hostsFile, '');
});
afterEach(() => rmSync(directory, { recursive: true }));

const text = (): string => readFileSync(hostsFile, 'latin1');
const options = { order: undefined, longOthers: false, fresh: false };

/** Nodes m0, m1 ... have 10.1.0.0, 10.1.0.1 ...; n1 has the address. */
const cluster = (address: string, count: number) => {
  const many = Array.from({ length: count }, (_, i) => ({ node: `m${i}`, ip: `10.1.${i >> 8}.${i & 255}` }));
  return snapshotOf({
    nodelist: ['n1', ...many.map(({ node }) => node)].map((node) => ({ node, groups: 'all' })),
    hosts: [{ node: 'n1', ip: address }, ...many],
    site: [{ key: 'domain', value: 'c.com' }],
  });
};

describe('what is asked for later is written later', () => {
  const [earlier, later] = [cluster('10.0.0.1', 1_000), cluster('10.0.0.2', 1_000)];

  it('so a long work on all nodes does not bring an old address back', async () => {
    await Promise.all([hosts.write(earlier, undefined, options), hosts.write(later, ['n1'], options)]);
    expect(text().match(/^.* n1 .*$/gm)).toEqual(['10.0.0.2 n1 n1.c.com ']);
    expect(text().match(/^10\.1\.\d+\.\d+ m\d+ /gm)).toHaveLength(1_000);
  });

  it('so lines that were taken out stay out', async () => {
    await Promise.all([hosts.write(earlier, undefined, options), hosts.remove(later, ['n1'])]);
    expect(text()).not.toContain('n1');
  });
});

it("host names that are the node's own, with or without its domain, stand once", async () => {
  const named = snapshotOf({
    nodelist: [{ node: 'n1', groups: 'all' }],
    hosts: [{ node: 'n1', ip: '10.0.0.1', hostnames: 'n1.c.com,N1.C.com,n1,login.c.com,n1.other.org' }],
    site: [{ key: 'domain', value: 'c.com' }],
  });
  await hosts.write(named, ['n1'], options);
  expect(text()).toBe('10.0.0.1 n1 n1.c.com login.c.com n1.other.org\n');
  await hosts.write(named, ['n1'], { ...options, order: 'long', longOthers: true });
  expect(text()).toBe('10.0.0.1 n1.c.com n1 login.c.com n1.other.org\n');
});

it('a line of IPv6, with line ends of another system or without one is found and replaced in its place', async () => {
  writeFileSync(hostsFile, '# \xff\r\n10.0.0.1\tx\r\n  FD00:0::9 y\r\n10.9.0.9 z', 'latin1');
  await hosts.write(cluster('10.0.0.1', 0), ['n1'], options);
  expect(text()).toBe('# \xff\r\n10.0.0.1 n1 n1.c.com \n  FD00:0::9 y\r\n10.9.0.9 z');
  await hosts.write(cluster('fd00::9', 0), ['n1'], options);
  expect(text()).toBe('# \xff\r\nfd00::9 n1 n1.c.com \n10.9.0.9 z');
  await hosts.write(cluster('10.9.0.9', 0), ['n1'], options);
  expect(text()).toBe('# \xff\r\n10.9.0.9 n1 n1.c.com \n');
});

it('nodes that cannot be in the file are named when the lines of all others are written', async () => {
  const nodes = [
    { node: 'n1', ip: '127.0.0.9' },
    { node: 'n2', ip: '10.0.0.2' },
    { node: 'n3', ip: '10.0.0.2' },
    { node: 'n4', ip: '10.0.0.4', otherinterfaces: 'nonsense' },
    { node: 'n5', ip: '10.0.0.5', otherinterfaces: '-bmc:10.0.0.6 bad..name:10.0.0.7' },
    { node: 'n6', ip: '10.0.0.6' },
  ];
  const snapshot = snapshotOf({
    nodelist: nodes.map(({ node }) => ({ node, groups: 'all' })),
    hosts: nodes,
    site: [{ key: 'domain', value: 'c.com' }],
  });
  await expect(hosts.write(snapshot, undefined, options)).rejects.toMatchObject({
    sentences: [
      expect.stringContaining('Node n1, hosts.ip: 127.0.0.9 is a loopback address'),
      expect.stringContaining('Node n3, hosts.ip: n2 of node n2 has the address 10.0.0.2 too'),
      expect.stringContaining('Node n4, hosts.otherinterfaces: "nonsense"'),
      expect.stringContaining('Node n5, hosts.otherinterfaces: "bad..name'),
    ],
  });
  expect(text()).toBe('10.0.0.6 n6 n6.c.com \n');
});
