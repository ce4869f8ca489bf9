import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nsupdate, Site } from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await Site.start();
});
afterAll(() => site.stop());

const post = (path: string, query = {}) => site.server.call('POST', path, { query });
const remove = (path: string) => site.server.call('DELETE', path);

describe('before the service is set up', () => {
  it('adding and removing nodes does nothing, and a note says what to do', async () => {
    await site.nodes({ n1: { ip: '10.77.1.1', hostnames: 'login www' }, n2: { ip: '10.77.1.2' } });
    const added = await post('/nodes/n1/dns');
    expect([added.status, added.text]).toEqual([201, '']);
    expect(added.headers['x-muster-note']).toContain('POST /services/dns sets it up');
    const removed = await remove('/nodes/n1/dns');
    expect([removed.status, removed.text]).toEqual([200, '']);
    expect(removed.headers['x-muster-note']).toContain('No DNS server is set up yet');
  });

  it('a site without a domain is refused', async () => {
    await site.attribute('domain', '');
    const reply = await post('/services/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringContaining('site.domain is not set')]);
    await site.attribute('domain', 'cluster.test');
  });
});

describe('POST /services/dns', () => {
  it('serves the hosts file: addresses, names of addresses, aliases, and the server itself', async () => {
    appendFileSync(site.hostsFile, '10.77.9.9 printer.cluster.test lp\n');
    const reply = await post('/services/dns');
    expect([reply.status, reply.text]).toEqual([201, '']);
    expect(site.dig('n1.cluster.test')).toEqual(['10.77.1.1']);
    expect(site.dig('-x', '10.77.1.2')).toEqual(['n2.cluster.test.']);
    expect(site.dig('login.cluster.test', 'CNAME')).toEqual(['n1.cluster.test.']);
    expect(site.dig('lp.cluster.test')).toEqual(['10.77.9.9', 'printer.cluster.test.']);
    const [server] = site.dig('cluster.test', 'NS');
    expect(site.dig(server!)).toEqual(['10.77.0.1']);
    expect(site.dig('77.10.in-addr.arpa', 'NS')).toEqual([server]);
  });

  it('keeps the key to itself', () => {
    expect(statSync(site.keyFile).mode & 0o777).toBe(0o600);
    expect(readFileSync(site.keyFile, 'utf8')).toMatch(/hmac-sha256/);
  });

  it('refuses updates and transfers without the key', () => {
    expect(() => nsupdate(site.port, '/dev/null', 'update add x.cluster.test 60 A 10.77.3.3')).toThrow();
    expect(site.dig('cluster.test', 'AXFR').join(' ')).toContain('Transfer failed');
  });

  it('can be repeated: the serial number grows, nodes added meanwhile stay, old generations go', async () => {
    const before = site.serial('cluster.test');
    await site.nodes({ n3: { ip: '10.77.1.3' } });
    expect((await post('/nodes/n3/dns')).status).toBe(201);
    const between = site.serial('cluster.test');
    expect(between).toBeGreaterThan(before);
    for (let i = 0; i < 2; i++) expect((await post('/services/dns')).status).toBe(201);
    expect(site.serial('cluster.test')).toBeGreaterThan(between);
    expect(site.dig('n3.cluster.test')).toEqual(['10.77.1.3']);
    expect(readdirSync(join(site.data, 'dns')).filter((name) => name.startsWith('zones-'))).toHaveLength(1);
  });

  it('loses nothing that is added while it works', async () => {
    const nodes = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`r${i}`, { ip: `10.77.21.${i + 1}` }]));
    await site.server.ok(
      'PUT',
      '/nodes',
      Object.fromEntries(Object.entries(nodes).map(([node, values]) => [node, { groups: 'all', ...values }])),
    );
    const setUps = Array.from({ length: 6 }, () => post('/services/dns'));
    const additions = Object.keys(nodes).map(async (node) => {
      await site.server.ok('POST', `/nodes/${node}/host`);
      await site.server.ok('POST', `/nodes/${node}/dns`);
    });
    await Promise.all([...setUps, ...additions]);
    expect(site.zone('cluster.test').filter((line) => /^r\d/.test(line))).toHaveLength(20);
    await site.server.ok('DELETE', '/nodes/r0-r19/dns');
    await site.server.ok('POST', '/services/dns');
  });

  it('names what of the hosts file it leaves out', async () => {
    const lines = ['192.0.2.7 far', '10.77.2.1 under_score', '10.77.2.2 n1.elsewhere.test', '10.77.2.3 other login'];
    appendFileSync(site.hostsFile, `${lines.join('\n')}\n`);
    const { debug } = (await post('/services/dns', { debug: 1 })).json as { debug: string[] };
    expect(debug.filter((text) => text.startsWith('Ignoring'))).toEqual([
      'Ignoring host "far", its address 192.0.2.7 is in no defined network.',
      'Ignoring host "under_score", which is no name that DNS allows for a host.',
      'Ignoring host "n1.elsewhere.test", n1.elsewhere.test is in no zone of this site.',
      'Ignoring login.cluster.test, another name of other.cluster.test: it is the name of another host already.',
    ]);
    expect(site.dig('login.cluster.test', 'CNAME')).toEqual(['n1.cluster.test.']);
  });

  it('makes zones of further networks and domains, also IPv6', async () => {
    await site.server.ok('POST', '/networks/ib', { net: '10.78.4.0', mask: '255.255.252.0', domain: 'ib.test' });
    await site.server.ok('POST', '/networks/six', { net: 'fd77:1::', mask: '/64' });
    await site.nodes({ n4: { ip: '10.78.6.4' }, n5: { ip: 'fd77:1::5' } });
    const refused = await post('/nodes/n4/dns');
    expect([refused.status, refused.json.error.join(' ')]).toEqual([
      503,
      expect.stringContaining('POST /services/dns'),
    ]);
    await site.server.ok('POST', '/services/dns');
    expect(site.dig('n4.ib.test')).toEqual(['10.78.6.4']);
    expect(site.dig('-x', '10.78.6.4')).toEqual(['n4.ib.test.']);
    expect(site.dig('n5.cluster.test', 'AAAA')).toEqual(['fd77:1::5']);
    expect(site.dig('-x', 'fd77:1::5')).toEqual(['n5.cluster.test.']);
  });

  it.each([
    ['domain', 'bad domain"; }', /site\.domain: "bad domain\\"; }" cannot be a zone/],
    ['domain', `${'a'.repeat(64)}.test`, /site\.domain/],
    ['forwarders', '10.0.0.1; }; evil', /site\.forwarders: "}" is not an IP address/],
    ['dnsforwardmode', 'first; }', /site\.dnsforwardmode/],
    ['dnsupdaters', 'any', /site\.dnsupdaters: "any"/],
    ['namedincludes', '/etc/shadow', /site\.namedincludes: "\/etc\/shadow" is not a file below/],
    ['namedincludes', '../../etc/passwd', /site\.namedincludes/],
  ])('refuses site.%s = %j and goes on serving', async (name, value, message) => {
    const old = (await site.server.ok('GET', '/globalconf')).clustersite[name] as string | undefined;
    await site.attribute(name, value);
    const reply = await post('/services/dns');
    await site.attribute(name, old ?? '');
    expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringMatching(message)]);
    expect(site.dig('n1.cluster.test')).toEqual(['10.77.1.1']);
  });

  it('is refused by BIND itself with its words, and goes on serving', async () => {
    writeFileSync(join(site.data, 'dns/extra.conf'), 'zone "x" { type nonsense; };');
    await site.attribute('namedincludes', 'extra.conf');
    const reply = await post('/services/dns');
    await site.attribute('namedincludes', '');
    expect(reply.json.error[0]).toContain('named-checkconf does not accept');
    expect(reply.json.error[1]).toMatch(/extra\.conf:1.*nonsense/);
    expect(site.dig('n1.cluster.test')).toEqual(['10.77.1.1']);
    expect(readdirSync(join(site.data, 'dns')).filter((name) => name.startsWith('zones-'))).toHaveLength(1);
  });
});

describe('POST and DELETE /nodes/{noderange}/dns', () => {
  it('refuses nodes that are not in the hosts file, and says how to get them there', async () => {
    await site.server.ok('PUT', '/nodes', { m1: { groups: 'all', ip: '10.77.5.1' }, m2: { groups: 'all' } });
    const reply = await post('/nodes/m1,m2,n1/dns');
    expect([reply.status, reply.json.error]).toEqual([
      403,
      [
        `Node m1: the hosts file ${site.hostsFile} has no line for 10.77.5.1 m1.`,
        `Node m2: it has no address (attribute ip) and no line in the hosts file ${site.hostsFile}.`,
        'Write the lines first with POST /nodes/m1,m2/host.',
      ],
    ]);
    expect(site.dig('m1.cluster.test')).toEqual([]);
  });

  it('adds, is idempotent, and removes', async () => {
    await site.nodes({ a1: { ip: '10.77.6.1', hostnames: 'alias1,alias2.cluster.test' }, a2: { ip: '10.77.6.2' } });
    const before = site.serial('cluster.test');
    expect([await post('/nodes/a1-a2/dns')].map(({ status, text }) => [status, text])).toEqual([[201, '']]);
    const serial = site.serial('cluster.test');
    // Both nodes, and all their records in the zone, in one message.
    expect(serial).toBe(before + 1);
    expect((await post('/nodes/a1-a2/dns')).status).toBe(201);
    expect(site.serial('cluster.test')).toBe(serial);
    expect(site.dig('alias2.cluster.test')).toEqual(['10.77.6.1', 'a1.cluster.test.']);
    expect([await remove('/nodes/a1-a2/dns')].map(({ status, text }) => [status, text])).toEqual([[200, '']]);
    for (const name of ['a1', 'a2', 'alias1', 'alias2']) expect(site.dig(`${name}.cluster.test`, 'ANY')).toEqual([]);
    expect(site.dig('-x', '10.77.6.1')).toEqual([]);
    expect((await remove('/nodes/a1-a2/dns')).status).toBe(200);
  });

  it('replaces the address and the aliases of a node that has changed', async () => {
    await site.nodes({ b1: { ip: '10.77.7.1', hostnames: 'old' } });
    await site.server.ok('POST', '/nodes/b1/dns');
    await site.nodes({ b1: { ip: '10.77.7.9', hostnames: 'new' } });
    await site.server.ok('POST', '/nodes/b1/dns');
    expect(site.dig('b1.cluster.test')).toEqual(['10.77.7.9']);
    expect(site.dig('-x', '10.77.7.1')).toEqual([]);
    expect(site.dig('-x', '10.77.7.9')).toEqual(['b1.cluster.test.']);
    expect(site.dig('old.cluster.test', 'CNAME')).toEqual([]);
    expect(site.dig('new.cluster.test', 'CNAME')).toEqual(['b1.cluster.test.']);
  });

  it('leaves records that others have added to the same names', async () => {
    await site.nodes({ c1: { ip: '10.77.8.1' } });
    await site.server.ok('POST', '/nodes/c1/dns');
    nsupdate(
      site.port,
      site.keyFile,
      'update add c1.cluster.test 60 A 10.77.8.100',
      'update add c1.cluster.test 60 TXT "theirs"',
    );
    await site.nodes({ c1: { ip: '10.77.8.2' } });
    await site.server.ok('POST', '/nodes/c1/dns');
    expect(site.dig('c1.cluster.test')).toEqual(['10.77.8.100', '10.77.8.2']);
    await site.server.ok('DELETE', '/nodes/c1/dns');
    expect(site.dig('c1.cluster.test')).toEqual(['10.77.8.100']);
    expect(site.dig('c1.cluster.test', 'TXT')).toEqual(['"theirs"']);
  });

  it('has records for every interface of a node', async () => {
    await site.nodes({ d1: { ip: '10.77.10.1', otherinterfaces: '-mgmt:10.77.11.1', 'nicips.ib0': '10.78.5.1' } });
    await site.server.ok('POST', '/nodes/d1/dns');
    expect(site.dig('d1-mgmt.cluster.test')).toEqual(['10.77.11.1']);
    expect(site.dig('d1-ib0.ib.test')).toEqual(['10.78.5.1']);
    await site.server.ok('POST', '/services/dns');
    await site.server.ok('DELETE', '/nodes/d1/dns');
    for (const name of ['d1.cluster.test', 'd1-mgmt.cluster.test', 'd1-ib0.ib.test'])
      expect(site.dig(name)).toEqual([]);
  });

  it('keeps a record that two nodes share until the second gives it up', async () => {
    await site.nodes({
      e1: { ip: '10.77.12.1' },
      e2: { ip: '10.77.12.2', otherinterfaces: 'shared.cluster.test:10.77.12.3' },
    });
    await site.server.ok('POST', '/nodes/e1,e2/dns');
    await site.nodes({ e1: { otherinterfaces: 'shared.cluster.test:10.77.12.3' } });
    await site.server.ok('POST', '/nodes/e1/dns');
    await site.server.ok('DELETE', '/nodes/e2/dns');
    expect(site.dig('shared.cluster.test')).toEqual(['10.77.12.3']);
    await site.server.ok('DELETE', '/nodes/e1/dns');
    expect(site.dig('shared.cluster.test')).toEqual([]);
  });

  it('refuses an alias that is the name of a host, and a name that is an alias', async () => {
    await site.nodes({ f1: { ip: '10.77.13.1', hostnames: 'printer' } });
    const alias = await post('/nodes/f1/dns');
    expect([alias.status, alias.json.error[0]]).toEqual([
      403,
      expect.stringMatching(/Node f1.*printer\.cluster\.test would be an alias, but .* the name of a host/),
    ]);
    await site.nodes({ f1: { hostnames: 'f2' } });
    await site.server.ok('POST', '/nodes/f1/dns');
    await site.nodes({ f1: { hostnames: '' }, f2: { ip: '10.77.13.2' } });
    const host = await post('/nodes/f2/dns');
    expect([host.status, host.json.error[0]]).toEqual([
      403,
      expect.stringMatching(/Node f2.*f2\.cluster\.test would be the name, but .* an alias of node f1/),
    ]);
    await site.server.ok('POST', '/nodes/f1,f2/dns');
    expect(site.dig('f2.cluster.test')).toEqual(['10.77.13.2']);
  });

  it('serves all others when nodes clash, and names those that do', async () => {
    await site.nodes({ h1: { ip: '10.77.15.1', hostnames: 'both' }, h3: { ip: '10.77.15.3' } });
    await site.nodes({ h2: { ip: '10.77.15.2', hostnames: 'both' } });
    const reply = await post('/nodes/h1-h3/dns');
    const what = 'both.cluster.test would be another name of both h1.cluster.test (node h1) and h2.cluster.test';
    expect([reply.status, reply.json.error]).toEqual([403, [`Node h2, hosts.hostnames: ${what}.`]]);
    expect(['h1', 'h2', 'h3', 'both'].map((name) => site.dig(`${name}.cluster.test`).length)).toEqual([0, 0, 1, 0]);
    await site.server.ok('POST', '/nodes/h1/dns');
    await site.server.ok('DELETE', '/nodes/h3/dns');
    const later = await post('/nodes/h2-h3/dns');
    const taken = 'both.cluster.test is another name of node h1; remove it there first';
    expect([later.status, later.json.error]).toEqual([403, [`Node h2, hosts.hostnames: ${taken}.`]]);
    expect(['h1', 'h2', 'h3', 'both'].map((name) => site.dig(`${name}.cluster.test`).length)).toEqual([1, 0, 1, 2]);
    // Told without being asked for.
    const all = await post('/services/dns');
    expect([all.status, all.headers['x-muster-note']]).toEqual([201, expect.stringContaining(', another name of ')]);
    await site.server.ok('DELETE', '/nodes/h1-h3/dns');
    await site.server.ok('DELETE', '/nodes/h1-h3');
  });

  it('moves an alias to the node that has it now, but takes it from nobody', async () => {
    await site.nodes({ g1: { ip: '10.77.14.1', hostnames: 'moving' } });
    await site.server.ok('POST', '/nodes/g1/dns');
    await site.nodes({ g2: { ip: '10.77.14.2', hostnames: 'moving' } });
    const refused = await post('/nodes/g2/dns');
    expect([refused.status, refused.json.error]).toEqual([
      403,
      ['Node g2, hosts.hostnames: moving.cluster.test is another name of node g1; remove it there first.'],
    ]);
    await site.nodes({ g1: { hostnames: '' } });
    const { debug } = (await post('/nodes/g2/dns', { debug: 1 })).json as { debug: string[] };
    expect(debug).toContain(
      'moving.cluster.test was another name of g1.cluster.test; now it is one of g2.cluster.test.',
    );
    expect(site.dig('moving.cluster.test', 'CNAME')).toEqual(['g2.cluster.test.']);
    await site.server.ok('DELETE', '/nodes/g1/dns');
    expect(site.dig('moving.cluster.test', 'CNAME')).toEqual(['g2.cluster.test.']);
  });

  it('knows no other node', async () => {
    expect((await post('/nodes/nosuch/dns')).status).toBe(404);
    expect((await remove('/nodes/nosuch/dns')).status).toBe(404);
    expect((await site.server.call('POST', '/nodes/nosuch/dns', { root: '/xcatws' })).status).toBe(403);
  });

  it('takes many requests at once', async () => {
    const nodes = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`p${i}`, { ip: `10.77.20.${i + 1}` }]));
    await site.nodes(nodes);
    const serial = site.serial('cluster.test');
    const replies = await Promise.all(Object.keys(nodes).map((node) => post(`/nodes/${node}/dns`)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201]));
    const names = site.zone('cluster.test').filter((line) => /^p\d+\./.test(line));
    expect(names).toHaveLength(60);
    // Each message raises the serial number by one: those who wait go together.
    expect(site.serial('cluster.test') - serial).toBeLessThan(30);
    await Promise.all(Object.keys(nodes).map((node) => remove(`/nodes/${node}/dns`)));
    expect(site.zone('cluster.test').filter((line) => /^p\d+\./.test(line))).toEqual([]);
  });

  it('keeps its key over a restart, and refuses one that others can read', async () => {
    const key = readFileSync(site.keyFile, 'utf8');
    await site.server.stop();
    await site.startMuster();
    await site.server.ok('POST', '/nodes/n1/dns');
    expect(readFileSync(site.keyFile, 'utf8')).toBe(key);
    chmodSync(site.keyFile, 0o644);
    const reply = await post('/services/dns');
    chmodSync(site.keyFile, 0o600);
    expect([reply.status, reply.json.error[0]]).toEqual([503, expect.stringContaining('is open to other users')]);
  });
});

it('serves again after a restart of muster', async () => {
  await site.server.stop();
  expect(() => site.dig('n1.cluster.test')).toThrow();
  await site.startMuster();
  await expect.poll(() => site.dig('n1.cluster.test')).toEqual(['10.77.1.1']);
});

it('a full disk is an error that says so, and named goes on serving', async () => {
  const directory = mkdtempSync(join(site.data, 'small-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=200k,mode=0755', 'tmpfs', directory]);
  await site.server.stop();
  await site.startMuster({ MUSTER_DNS_DIRECTORY: directory });
  try {
    await site.server.ok('POST', '/services/dns');
    const many = Array.from({ length: 4_000 }, (_, i) => `10.77.${100 + (i >> 8)}.${i & 255} many${i}\n`);
    appendFileSync(site.hostsFile, many.join(''));
    const reply = await post('/services/dns');
    expect([reply.status, reply.json.error[0]]).toEqual([503, expect.stringMatching(/cannot be written \(ENOSPC\)/)]);
    expect(readdirSync(directory).filter((name) => name.startsWith('zones-'))).toEqual(['zones-1']);
    expect(site.dig('n1.cluster.test')).toEqual(['10.77.1.1']);
    expect(site.dig('many1.cluster.test')).toEqual([]);
  } finally {
    await site.server.stop();
    execFileSync('umount', [directory]);
    await site.startMuster();
  }
});
