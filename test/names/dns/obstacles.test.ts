import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nsupdate, Site } from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await Site.start();
  await site.server.ok('POST', '/services/dns');
});
afterAll(() => site.stop());

const post = (range: string) => site.server.call('POST', `/nodes/${range}/dns`);
const foreign = (...lines: string[]): void => nsupdate(site.port, site.keyFile, ...lines);
const remedy = expect.stringMatching(/^Remove those records from the name server named at 127\.0\.0\.1:\d+, or change/);

describe('somebody else’s records', () => {
  it('that are an alias where an address should be: the node stays out, the others get in', async () => {
    foreign('update add a2.cluster.test 60 CNAME www.corp.test.');
    await site.nodes({
      a1: { ip: '10.77.1.1' },
      a2: { ip: '10.77.1.2', hostnames: 'a2-too' },
      a3: { ip: '10.77.1.3' },
    });
    const reply = await post('a1-a3');
    expect([reply.status, reply.json.error]).toEqual([
      403,
      [
        "Node a2: a2.cluster.test cannot get A 10.77.1.2: somebody else's records stand there (CNAME www.corp.test).",
        remedy,
      ],
    ]);
    expect([site.dig('a1.cluster.test'), site.dig('-x', '10.77.1.3')]).toEqual([['10.77.1.1'], ['a3.cluster.test.']]);
    expect([site.dig('-x', '10.77.1.2'), site.dig('a2-too.cluster.test', 'CNAME')]).toEqual([[], []]);
    // What was refused is not ours: its removal removes nothing.
    await site.server.ok('DELETE', '/nodes/a2/dns');
    expect(site.dig('a2.cluster.test', 'CNAME')).toEqual(['www.corp.test.']);
    foreign('update delete a2.cluster.test CNAME');
    await site.server.ok('POST', '/nodes/a1-a3/dns');
    expect([site.dig('a2.cluster.test'), site.dig('a2-too.cluster.test', 'CNAME')]).toEqual([
      ['10.77.1.2'],
      ['a2.cluster.test.'],
    ]);
  });

  it.each([
    ['b1', 'TXT "theirs"', 'TXT'],
    ['b2', 'A 10.77.9.9', 'A 10.77.9.9'],
    ['b3', 'AAAA fd00::9', 'AAAA fd00::9'],
    ['b4', 'CNAME www.corp.test.', 'CNAME www.corp.test'],
  ])('where an alias should be are not replaced, and told: %s, %s', async (node, record, shown) => {
    foreign(`update add ${node}-alias.cluster.test 60 ${record}`);
    await site.nodes({ [node]: { ip: `10.77.2.${node.slice(1)}`, hostnames: `${node}-alias` } });
    const reply = await post(node);
    expect([reply.status, reply.json.error[0]]).toEqual([
      403,
      `Node ${node}: ${node}-alias.cluster.test cannot get CNAME ${node}.cluster.test: somebody else's records stand there (${shown}).`,
    ]);
    expect(site.dig(`${node}-alias.cluster.test`, record.split(' ')[0]!)).toEqual([record.split(' ')[1]]);
    expect(site.dig(`${node}.cluster.test`)).toEqual([]);
  });

  it('that are an alias where the name of an address should be', async () => {
    foreign('update add 7.3.77.10.in-addr.arpa 60 CNAME 7.customer.corp.test.');
    await site.nodes({ c1: { ip: '10.77.3.7' } });
    const reply = await post('c1');
    expect(reply.json.error[0]).toBe(
      "Node c1: 7.3.77.10.in-addr.arpa cannot get PTR c1.cluster.test: somebody else's records stand there (CNAME 7.customer.corp.test).",
    );
    expect(site.dig('c1.cluster.test')).toEqual([]);
  });

  it('leave a node that was there as it was', async () => {
    await site.nodes({ d1: { ip: '10.77.4.1', hostnames: 'd1-old' } });
    await site.server.ok('POST', '/nodes/d1/dns');
    foreign('update add d1-new.cluster.test 60 A 10.77.9.9');
    await site.nodes({ d1: { ip: '10.77.4.2', hostnames: 'd1-new' } });
    expect((await post('d1')).status).toBe(403);
    expect([site.dig('d1.cluster.test'), site.dig('-x', '10.77.4.1'), site.dig('-x', '10.77.4.2')]).toEqual([
      ['10.77.4.1'],
      ['d1.cluster.test.'],
      [],
    ]);
    expect(site.dig('d1-old.cluster.test', 'CNAME')).toEqual(['d1.cluster.test.']);
    await site.server.ok('DELETE', '/nodes/d1/dns');
    for (const name of ['d1.cluster.test', 'd1-old.cluster.test']) expect(site.dig(name)).toEqual([]);
    expect(site.dig('d1-new.cluster.test')).toEqual(['10.77.9.9']);
  });

  it('that have taken the place of ours are seen, and stay', async () => {
    await site.nodes({ e1: { ip: '10.77.5.1', hostnames: 'e1-alias' } });
    await site.server.ok('POST', '/nodes/e1/dns');
    foreign(
      'update delete e1.cluster.test A',
      'update add e1.cluster.test 60 CNAME www.corp.test.',
      'update add e1-alias.cluster.test 60 CNAME ftp.corp.test.',
    );
    const reply = await post('e1');
    expect(reply.json.error).toHaveLength(3);
    await site.server.ok('DELETE', '/nodes/e1/dns');
    expect(site.dig('e1.cluster.test', 'CNAME')).toEqual(['www.corp.test.']);
    expect(site.dig('e1-alias.cluster.test', 'CNAME')).toEqual(['ftp.corp.test.']);
    expect(site.dig('-x', '10.77.5.1')).toEqual([]);
  });

  it('such as a wildcard alias, or a name below, are in nobody’s way', async () => {
    foreign('update add *.cluster.test 60 CNAME www.corp.test.', 'update add x.f1-alias.cluster.test 60 A 10.77.9.9');
    await site.nodes({ f1: { ip: '10.77.6.1', hostnames: 'f1-alias' } });
    await site.server.ok('POST', '/nodes/f1/dns');
    foreign('update delete *.cluster.test CNAME');
    expect(site.dig('f1-alias.cluster.test')).toEqual(['10.77.6.1', 'f1.cluster.test.']);
  });

  it('do not stop many others, nor requests that go together with the one they stop', async () => {
    const count = 1_500;
    const nodes = Object.fromEntries(
      Array.from({ length: count }, (_, i) => [
        `m${i}`,
        { ip: `10.77.${100 + Math.floor(i / 200)}.${(i % 200) + 1}`, hostnames: i % 3 === 0 ? `m${i}-alias` : '' },
      ]),
    );
    await site.nodes(nodes);
    const stopped = Array.from({ length: 30 }, (_, i) => i * 50);
    foreign(...stopped.map((i) => `update add m${i}.cluster.test 60 CNAME www.corp.test.`));
    const [bulk, ...single] = await Promise.all([post('m2-m1499'), post('m0'), post('m1')]);
    expect(bulk.json.error).toHaveLength(22);
    expect(bulk.json.error[20]).toBe('9 more are left out here.');
    expect(single.map(({ status }) => status)).toEqual([403, 201]);
    const found = site.zone('cluster.test').filter((line) => /^m\d+\. ?/.test(line.replace('.cluster.test', '')));
    expect(found.filter((line) => / A /.test(line))).toHaveLength(count - stopped.length);
    expect(found.filter((line) => /CNAME www\.corp\.test/.test(line))).toHaveLength(stopped.length);
    expect(site.zone('77.10.in-addr.arpa').filter((line) => / PTR m\d/.test(line))).toHaveLength(
      count - stopped.length,
    );
    await site.server.ok('DELETE', '/nodes/m0-m1499/dns');
    expect(site.zone('77.10.in-addr.arpa').filter((line) => / PTR m\d/.test(line))).toEqual([]);
  });
});

describe('records of ours', () => {
  it('that somebody has removed come back with the next request', async () => {
    await site.nodes({ o1: { ip: '10.77.7.1', hostnames: 'o1-alias' } });
    await site.server.ok('POST', '/nodes/o1/dns');
    foreign('update delete o1.cluster.test', 'update delete o1-alias.cluster.test');
    await site.server.ok('POST', '/nodes/o1/dns');
    expect(site.dig('o1-alias.cluster.test')).toEqual(['10.77.7.1', 'o1.cluster.test.']);
  });

  it('move from alias to alias, to host and back, whatever of them is there', async () => {
    const states: Record<string, Record<string, string>>[] = [
      { p1: { hostnames: 'p-x' }, p2: { hostnames: '', otherinterfaces: '' } },
      { p1: { hostnames: '' }, p2: { hostnames: 'p-x' } },
      { p1: { hostnames: '' }, p2: { hostnames: '', otherinterfaces: 'p-x:10.77.8.9' } },
      { p1: { hostnames: 'p-x' }, p2: { hostnames: '', otherinterfaces: '' } },
    ];
    const shown = [
      ['10.77.8.1', 'p1.cluster.test.'],
      ['10.77.8.2', 'p2.cluster.test.'],
      ['10.77.8.9'],
      ['10.77.8.1', 'p1.cluster.test.'],
    ];
    for (const isRemoved of [false, true]) {
      for (const [i, { p1, p2 }] of states.entries()) {
        await site.nodes({ p1: { ip: '10.77.8.1', ...p1 }, p2: { ip: '10.77.8.2', ...p2 } });
        if (isRemoved) foreign('update delete p-x.cluster.test');
        await site.server.ok('POST', '/nodes/p1,p2/dns');
        expect(site.dig('p-x.cluster.test')).toEqual(shown[i]);
      }
    }
  });

  it('that were a host stay one, if somebody’s note at the name forbids an alias', async () => {
    await site.nodes({ q1: { ip: '10.77.9.1', otherinterfaces: 'q-x:10.77.9.2' } });
    await site.server.ok('POST', '/nodes/q1/dns');
    foreign('update add q-x.cluster.test 60 TXT "theirs"');
    await site.nodes({ q1: { otherinterfaces: '', hostnames: 'q-x' } });
    const reply = await post('q1');
    expect([reply.status, reply.json.error[0]]).toEqual([403, expect.stringContaining('(TXT)')]);
    expect(site.dig('q-x.cluster.test', 'TXT')).toEqual(['"theirs"']);
    expect([site.dig('q1.cluster.test'), site.dig('q-x.cluster.test')]).toEqual([['10.77.9.1'], ['10.77.9.2']]);
    expect(site.dig('-x', '10.77.9.2')).toEqual(['q-x.cluster.test.']);
  });
});
