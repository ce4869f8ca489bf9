import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { errorOf } from '../harness/errors.ts';
import { startServer, type TestServer } from '../harness/server.ts';

let server: TestServer;
let file: string;
beforeAll(async () => {
  server = await startServer();
  file = join(server.data, 'hosts');
  await server.ok('PUT', '/globalconf/attrs/domain', { domain: 'c.com' });
  await server.ok('POST', '/networks/ends', { net: '10.9.0.0', mask: '255.255.255.0' });
});
afterAll(() => server.stop());

const own = `127.0.0.1 localhost\n127.0.1.1 ${hostname()}\n`;
const hosts = (): string => readFileSync(file, 'utf8');

beforeEach(async () => {
  for (const node of await server.ok('GET', '/nodes')) await server.ok('DELETE', `/nodes/${node}`);
  await server.ok('POST', '/nodes/n1,n2', { groups: 'all', ip: '|\\D+(\\d+)$|10.0.0.($1)|' });
  // Comes after the lines of the nodes before, which muster takes out by itself.
  await server.ok('DELETE', '/nodes/n1,n2/host');
  writeFileSync(file, own);
});

describe('POST nodes/{noderange}/host', () => {
  it('writes the lines of the nodes and says nothing', async () => {
    const reply = await server.call('POST', '/nodes/n1/host');
    expect([reply.status, reply.text]).toEqual([201, '']);
    expect(hosts()).toBe(`${own}10.0.0.1 n1 n1.c.com \n`);
  });

  it('takes the order of names and long other names', async () => {
    await server.ok('PUT', '/nodes/n1', { hostnames: 'a' });
    await server.ok('POST', '/nodes/n1/host', { order: 'long', longOthers: true });
    expect(hosts()).toBe(`${own}10.0.0.1 n1.c.com n1 a.c.com a\n`);
    expect(errorOf(await server.call('POST', '/nodes/n1/host', { body: { order: 'upside' } }))).toEqual([400, 2]);
    expect(errorOf(await server.call('POST', '/nodes/n1/host', { body: { fresh: true } }))).toEqual([400, 2]);
  });

  it('names a node that it left out, and writes the others', async () => {
    await server.ok('POST', '/nodes/bare', { groups: 'odd' });
    const reply = await server.call('POST', '/nodes/bare,n1/host');
    const error = "Ignoring node 'bare', it can not be resolved.";
    expect([reply.status, reply.json]).toEqual([403, { error: [error], errorcode: 1 }]);
    expect(hosts()).toBe(`${own}10.0.0.1 n1 n1.c.com \n`);
  });

  it('for all nodes names those that it left out beside those that are wrong', async () => {
    await server.ok('POST', '/nodes/bare', { groups: 'odd', hostnames: 'other' });
    const leftOut = "Ignoring node 'bare', it can not be resolved.";
    const asked = await server.call('POST', '/services/host', { query: { debug: '1' } });
    expect([asked.status, asked.json.debug.at(-1)]).toEqual([201, leftOut]);
    await server.ok('PUT', '/tables/hosts/rows/node=n2', { ip: '127.0.0.9' });
    const reply = await server.call('POST', '/services/host');
    expect([reply.status, reply.json.error]).toEqual([
      403,
      ['Node n2, hosts.ip: 127.0.0.9 is a loopback address, which no node can have.', leftOut],
    ]);
    expect(hosts()).toContain('10.0.0.1 n1 n1.c.com');
  });

  it('finds a node without an address in the file itself', async () => {
    await server.ok('POST', '/nodes/bare', { groups: 'odd' });
    writeFileSync(file, '10.9.0.9 other bare\n');
    await server.ok('POST', '/nodes/bare/host');
    expect(hosts()).toBe('10.9.0.9 bare bare.c.com \n');
  });

  it('refuses unknown nodes and an empty range before the file is touched', async () => {
    expect(errorOf(await server.call('POST', '/nodes/n1,nosuch/host'))).toEqual([404, 1]);
    expect(errorOf(await server.call('POST', '/nodes/n1-n2,-n1,-n2/host'))).toEqual([403, 1]);
    expect(errorOf(await server.call('POST', '/nodes/n1-n2/host', { headers: { 'X-Expect-Nodes': '3' } }))).toEqual([
      417, 6,
    ]);
    expect(errorOf(await server.call('POST', '/nodes/n1/host', { query: { dryRun: '1' } }))).toEqual([403, 1]);
    expect(hosts()).toBe(own);
  });

  it('never touches lines of loopback, localhost and the management node', async () => {
    const lines = `10.0.0.1 ${hostname()}.x.org n1\n127.0.0.5 n1\n::1 n1 localhost\n10.0.0.2 localhost n2\n`;
    writeFileSync(file, lines);
    await server.ok('POST', '/services/host');
    expect(hosts()).toBe(lines);
    await server.ok('DELETE', '/nodes/n1,n2/host');
    expect(hosts()).toBe(lines);
  });

  it('refuses an address that another node has in the file, unless that node is asked about or has another one now', async () => {
    await server.ok('POST', '/nodes/n3', { groups: 'odd', ip: '10.0.0.3', otherinterfaces: '-ib:11.0.0.3' });
    await server.ok('POST', '/nodes/n2-n3/host');
    const before = hosts();
    for (const [attribute, address, value] of [
      ['hosts.ip', '10.0.0.3', { ip: '10.0.0.3' }],
      ['hosts.ip', '11.0.0.3', { ip: '11.0.0.3' }],
      ['hosts.otherinterfaces', '10.0.0.3', { ip: '10.0.0.1', otherinterfaces: 'x:10.0.0.3' }],
    ] as const) {
      await server.ok('PUT', '/nodes/n1', value);
      const reply = await server.call('POST', '/nodes/n1/host');
      expect([reply.status, reply.json.error]).toEqual([
        403,
        [
          `Node n1, ${attribute}: node n3 has the address ${address} too, and its line in the hosts file; give one of them another address.`,
        ],
      ]);
      expect(errorOf(await server.call('POST', '/services/host'))).toEqual([403, 1]);
      expect(errorOf(await server.call('POST', '/nodes/n1,n3/host'))).toEqual([403, 1]);
      expect(hosts()).toBe(before);
    }
    await server.ok('PUT', '/nodes/n1', { ip: '10.0.0.3', otherinterfaces: '' });
    await server.ok('PUT', '/nodes/n3', { ip: '10.0.0.1', otherinterfaces: '' });
    await server.ok('POST', '/nodes/n1/host');
    const others = ['10.0.0.2 n2 n2.c.com \n', '11.0.0.3 n3-ib n3-ib.c.com \n'] as const;
    expect(hosts()).toBe(`${own}${others[0]}10.0.0.3 n1 n1.c.com \n${others[1]}`);
  });

  it('writes nothing for the management node, and nothing of it for other nodes', async () => {
    await server.ok('PUT', '/globalconf/attrs/master', { master: '10.0.0.100' });
    await server.ok('POST', `/nodes/${hostname()}`, { groups: 'odd', ip: '10.0.0.100' });
    const { json } = await server.call('POST', `/nodes/${hostname()}/host`, { query: { debug: '1' } });
    expect(json.debug).toContain(
      `Ignoring 10.0.0.100 ${hostname()}: node '${hostname()}' is the management node, whose lines stay as they are.`,
    );
    for (const [node, ip, sentence] of [
      ['n1', '10.0.0.100', '10.0.0.100 is an address of this management node; give the node another address.'],
      [hostname(), '10.0.0.9', '10.0.0.9 is no address of this management node, whose name the node has;'],
    ]) {
      await server.ok('PUT', `/nodes/${node}`, { ip });
      const reply = await server.call('POST', `/nodes/${node}/host`);
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error.join(' ')).toContain(`Node ${node}, hosts.ip: ${sentence}`);
    }
    await server.ok('DELETE', '/globalconf/attrs/master');
    expect(hosts()).toBe(own);
  });

  it.each([
    ['ip', '127.0.0.1', 'Node n1, hosts.ip: 127.0.0.1 is a loopback address, which no node can have.'],
    ['ip', '0.0.0.0', 'Node n1, hosts.ip: 0.0.0.0 is an unspecified address, which no node can have.'],
    ['ip', '::', 'Node n1, hosts.ip: :: is an unspecified address, which no node can have.'],
    ['ip', '::ffff:10.0.0.1', 'Node n1, hosts.ip: ::ffff:10.0.0.1 is an IPv4-mapped address, which no node can have.'],
    ['ip', '10.9.0.0', 'Node n1, hosts.ip: 10.9.0.0 is the first or last address of network ends, which no node'],
    ['ip', '10.9.0.255', 'Node n1, hosts.ip: 10.9.0.255 is the first or last address of network ends, which no node'],
    ['nicips.eth0', '10.9.0.255', 'Node n1, nicips.eth0: 10.9.0.255 is the first or last address of network ends'],
    ['hostnames', hostname(), `Node n1, hosts.hostnames: "${hostname()}" belongs to the management node.`],
    ['hostnames', `${hostname()}.x.org`, 'belongs to the management node.'],
    ['otherinterfaces', `${hostname()}:10.9.0.9`, 'Node n1, hosts.otherinterfaces: "'],
    ['ip', '10.0.0.2', 'Node n2, hosts.ip: n1 of node n1 has the address 10.0.0.2 too.'],
    ['hostnames', 'a;b', 'Node n1, hosts.hostnames: "a;b" is not a host name'],
    ['hostnames', 'a"\'', 'Node n1, hosts.hostnames: "a\\"\'" is not a host name'],
    ['hostnames', '*', 'Node n1, hosts.hostnames: "*" is not a host name'],
    ['hostnames', '-', 'Node n1, hosts.hostnames: "-" is not a host name'],
    ['hostnames', '10.0.0.7', 'Node n1, hosts.hostnames: "10.0.0.7" is an address'],
    ['hostnames', 'localhost', 'Node n1, hosts.hostnames: "localhost" belongs to the management node'],
    ['hostnames', 'x'.repeat(300), 'is longer than 253 characters'],
    ['hostnames', '|(.*)|($1) 127.0.0.1|', 'Node n1, hosts.hostnames: "127.0.0.1" is an address'],
    ['otherinterfaces', '-ib', 'Node n1, hosts.otherinterfaces: "-ib" is not of the form name:address.'],
    ['otherinterfaces', '-ib:10.0.0.2', 'n1-ib of node n1 has the address 10.0.0.2 too'],
    ['nicips.eth0', '11.0.0.1|11.0.0.1', 'Node n1, nicips.eth0: n1-eth0 of node n1 has the address 11.0.0.1 too.'],
    ['nicaliases.eth0', 'n2', 'Node n1, nicaliases.eth0: "n2" is the name of another node.'],
  ])('refuses %s=%s with a sentence, and serves the others', async (attribute, value, sentence) => {
    const nic = attribute.startsWith('nicaliases') ? { 'nicips.eth0': '11.0.0.1' } : {};
    await server.ok('PUT', '/nodes/n1', { ...nic, [attribute]: value });
    for (const path of ['/nodes/n1,n2/host', '/services/host']) {
      const reply = await server.call('POST', path);
      expect(errorOf(reply)).toEqual([403, 1]);
      expect(reply.json.error.join(' ')).toContain(sentence);
      // Of two nodes that want one address nobody can tell which is right.
      const others = sentence.includes('10.0.0.2 too') ? '' : '10.0.0.2 n2 n2.c.com \n';
      expect(hosts()).toBe(own + others);
    }
  });

  it('refuses line breaks where values are given', async () => {
    for (const hostnames of ['a\n127.0.0.9 b', 'a\rb', 'a\0b'])
      expect(errorOf(await server.call('PUT', '/nodes/n1', { body: { hostnames } }))).toEqual([403, 1]);
  });
});

describe('DELETE nodes/{noderange}/host', () => {
  it('takes the lines of the nodes out', async () => {
    writeFileSync(file, `${own}# c\n10.0.0.1 n1 n1.c.com \n10.0.0.2 n2 n2.c.com \n10.9.0.1 n1-x\n`);
    const reply = await server.call('DELETE', '/nodes/n1/host');
    expect([reply.status, reply.text]).toEqual([200, '']);
    expect(hosts()).toBe(`${own}# c\n10.0.0.2 n2 n2.c.com \n10.9.0.1 n1-x\n`);
  });

  it('is not offered at /xcatws', async () => {
    expect(errorOf(await server.call('DELETE', '/nodes/n1/host', { root: '/xcatws' }))).toEqual([405, 2]);
  });
});

describe('POST services/host', () => {
  it('writes all nodes that have an address', async () => {
    await server.ok('POST', '/nodes/bare', { groups: 'odd' });
    await server.ok('POST', '/services/host');
    expect(hosts()).toBe(`${own}10.0.0.1 n1 n1.c.com \n10.0.0.2 n2 n2.c.com \n`);
    const { ino, mtimeMs } = statSync(file);
    await server.ok('POST', '/services/host');
    expect(statSync(file)).toMatchObject({ ino, mtimeMs });
  });

  it('drops the lines of other hosts if told so', async () => {
    writeFileSync(file, `# c\n10.9.0.1 x\n${own}`);
    await server.ok('POST', '/services/host', { fresh: true });
    expect(hosts()).toBe(`${own}10.0.0.1 n1 n1.c.com \n10.0.0.2 n2 n2.c.com \n`);
  });

  it('keeps only the lines of some nodes if told so, unless one of them is unknown', async () => {
    writeFileSync(file, `10.9.0.1 x\n${own}10.0.0.2 n2 n2.c.com \n`);
    const before = hosts();
    expect(errorOf(await server.call('POST', '/services/host', { body: { only: 'n1,nosuch' } }))).toEqual([404, 1]);
    expect(errorOf(await server.call('POST', '/services/host', { body: { only: 'n1,-n1' } }))).toEqual([403, 1]);
    expect(hosts()).toBe(before);
    await server.ok('POST', '/services/host', { only: 'n1', order: 'long' });
    expect(hosts()).toBe(`${own}10.0.0.1 n1.c.com n1 \n`);
  });

  it('writes the others and tells of a node whose address is none', async () => {
    // Who joins a group later may get a value that was not looked at when it was written.
    await server.ok('PUT', '/groups/odd', { ip: '|.*|bad|' });
    await server.ok('PUT', '/nodes/n1', { groups: 'all,odd', ip: '' });
    const reply = await server.call('POST', '/services/host');
    expect([reply.status, reply.json]).toEqual([
      403,
      { error: ["Invalid IP Addr 'bad' for node 'n1'."], errorcode: 1 },
    ]);
    expect(hosts()).toBe(`${own}10.0.0.2 n2 n2.c.com \n`);
  });

  it('needs the right to run makehosts', async () => {
    await server.ok('PUT', '/tables/passwd/rows/key=xcat,username=ops', { password: 'operates' });
    await server.ok('POST', '/policy/6.1', { name: 'ops', commands: 'makehosts', noderange: 'n1', rule: 'allow' });
    const { token } = await server.ok('POST', '/tokens', { userName: 'ops', userPW: 'operates' }, { token: null });
    const status = async (path: string) => (await server.call('POST', path, { token: token.id })).status;
    expect([await status('/nodes/n1/host'), await status('/nodes/n2/host'), await status('/services/host')]).toEqual([
      201, 403, 403,
    ]);
    expect(hosts()).toBe(`${own}10.0.0.1 n1 n1.c.com \n`);
  });

  it('with many requests at once loses none of them', async () => {
    await server.ok('POST', '/nodes/m1-m60', { groups: 'm', ip: '|\\D+(\\d+)$|10.3.0.($1)|' });
    await Promise.all(Array.from({ length: 60 }, (_, i) => server.ok('POST', `/nodes/m${i + 1}/host`)));
    expect(hosts().match(/^10\.3\.0\.\d+ m\d+ m\d+\.c\.com $/gm)).toHaveLength(60);
  });

  it('writes 10,000 nodes with three addresses each, while others get their answers', async () => {
    const ip = (net: number) => `|\\D+(\\d+)$|10.${net}.($1/250).($1%250+1)|`;
    await server.ok('POST', '/nodes/k00001-k10000', { groups: 'k', ip: ip(20), hostnames: '|(.*)|($1)-alias|' });
    await server.ok('PUT', '/nodes/k00001-k10000', {
      otherinterfaces: '|\\D+(\\d+)$|-ib:10.21.($1/250).($1%250+1),-b:10.22.($1/250).($1%250+1)|',
    });
    let served = 0;
    let done = false;
    const written = server.ok('POST', '/nodes/k/host').finally(() => (done = true));
    while (!done) {
      await server.ok('GET', '/nodes/n1');
      if (!done) served++;
    }
    await written;
    expect(hosts().split('\n')).toHaveLength(30_000 + 3);
    expect(served).toBeGreaterThan(3);
    await server.ok('DELETE', '/nodes/k/host');
    expect(hosts()).toBe(own);
    await server.ok('DELETE', '/nodes/k');
  });
});

describe('GET localres/adapters', () => {
  it('shows the addresses of the machine', async () => {
    for (const { name, ip, mac } of await server.ok('GET', '/localres/adapters')) {
      expect(name).not.toBe('lo');
      expect(ip).toMatch(/^[0-9a-f.:]+\/\d+$/);
      expect(mac).toMatch(/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/);
    }
  });
});
