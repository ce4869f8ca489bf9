import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifyPassword } from '../../src/access/crypt.ts';
import { importTables } from '../../src/admin/import.ts';
import { withStore } from '../../src/admin/offline.ts';
import { accountHash, fill, firstStart, openData, sentencesOf, stored, writeDump } from './cluster-data.ts';

let parent: string;
let data: Awaited<ReturnType<typeof openData>>;
let dump: string;
beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'muster-import-'));
  dump = join(parent, 'dump');
  data = await openData(join(parent, 'data'));
});
beforeEach(() => fill(data, {}));
afterAll(async () => {
  await data.close();
  rmSync(parent, { recursive: true });
});

const nothing = 'Nothing was imported.';

describe('a dump of the reference system', () => {
  it('moves over, whatever its hand-made lines look like', async () => {
    await fill(data, firstStart);
    writeDump(dump, {
      'nodelist.csv':
        '#node,groups,status,statustime,appstatus,appstatustime,primarysn,hidden,updatestatus,updatestatustime,zonename,comments,disable\n' +
        '"n1","compute,all","booted","08-13-2025 09:41:52",,,,,,,,"says ""hello""",\n' +
        '\n#"n9","compute,all",,,,,,,,,,,\n' +
        '"compute1-2","all",,,,,,,,,,,"1"\n' +
        'n3,all\n',
      'hosts.csv': '\uFEFF#ip,node\r\n"10.0.0.1","n1"\r\n"|\\D+(\\d+)|10.0.1.($1+0)|","compute"\r\n',
      'site.csv': '#key,value,comments,disable\n"domain","cluster.local",,\n"nameservers","",,\n"gone",,,\n',
      'switch.csv':
        '#node,switch,port,vlan,interface,comments,disable\n"n1","sw1","1",,,,\n"n1","sw1","2",,,,\n"n3",,,,,,\n',
      'policy.csv':
        '#priority,name,host,commands,noderange,parameters,time,rule,comments,disable\n' +
        '"1","root",,,,,,"allow",,\n"1.2","mgt.cluster.local",,,,,,"trusted",,\n"4.8",,,"nodels",,,,"allow",,\n',
    });
    expect(await importTables(data, dump)).toEqual({ tables: 5, rows: 14, skipped: [], notes: [] });
    expect(stored(data)).toEqual({
      hosts: [
        { node: 'compute', ip: '|\\D+(\\d+)|10.0.1.($1+0)|' },
        { node: 'n1', ip: '10.0.0.1' },
      ],
      nodelist: [
        { node: 'compute1-2', groups: 'all', disable: '1' },
        {
          node: 'n1',
          groups: 'compute,all',
          status: 'booted',
          statustime: '08-13-2025 09:41:52',
          comments: 'says "hello"',
        },
        { node: 'n3', groups: 'all' },
      ],
      passwd: firstStart['passwd'],
      policy: [
        { priority: '1', name: 'root', rule: 'allow' },
        { priority: '1.2', name: 'mgt.cluster.local', rule: 'trusted' },
        { priority: '4.8', commands: 'nodels', rule: 'allow' },
      ],
      site: [{ key: 'domain', value: 'cluster.local' }, { key: 'gone' }, { key: 'nameservers', value: '' }],
      switch: [{ node: 'n3' }, { node: 'n1', switch: 'sw1', port: '1' }, { node: 'n1', switch: 'sw1', port: '2' }].sort(
        (a, b) => (a.node < b.node ? -1 : 1),
      ),
    });
  });

  it('is one change set with one journal entry', async () => {
    const { revision, sequence } = data.store.current;
    writeDump(dump, { 'nodelist.csv': '#node\nn1\nn2\n', 'hosts.csv': '#node,ip\nn1,10.0.0.1\n' });
    await importTables(data, dump);
    const sets = (await data.store.database.changesAfter(sequence))!;
    const journal = { revision: revision + 1, user: 'root', client: 'local', command: 'import' };
    expect(sets).toMatchObject([{ journal }]);
    expect(Object.keys(sets[0]!.changes).sort()).toEqual(['hosts', 'nodelist']);
  });

  it.each([
    ['ends the tokens of accounts whose rows it changes', 'another', 0],
    ['leaves the tokens of accounts it brings as they are', accountHash, 1],
    ['leaves the tokens of accounts whose passwords it hides', '********', 1],
  ])('%s', async (_what, password, left) => {
    const token = { tokenid: 'c'.repeat(64), username: 'root', expire: 'never' };
    await fill(data, { ...firstStart, token: [token] });
    const before = data.store.current.sequence;
    writeDump(dump, { 'passwd.csv': `#key,username,password\n"xcat","root","${password}"\n` });
    await importTables(data, dump);
    expect(data.store.current.rows('token').size).toBe(left);
    const entries = (await data.store.database.changesAfter(before)) ?? [];
    expect(entries.map(({ changes }) => Object.keys(changes).sort())).toEqual(left ? [] : [['passwd', 'token']]);
  });

  it('needs no first start if it brings an account with full rights', async () => {
    writeDump(dump, {
      'passwd.csv': '#key,username,password\n"xcat","admin","secret"\n',
      'policy.csv': '#priority,name,rule\n"1","admin","allow"\n',
    });
    expect(await importTables(data, dump)).toMatchObject({ rows: 2 });
  });
});

describe('faults', () => {
  const tooLong = 'x'.repeat(65_537);
  it.each<[string, Record<string, string | Uint8Array>, (string | RegExp)[]]>([
    ['an unknown table', { 'nodes.csv': '' }, ['nodes.csv: There is no table named "nodes".']],
    [
      'unknown columns',
      { 'hosts.csv': '\n#node,color,,ip\nn1,red,x,10.0.0.1' },
      ['hosts.csv:2: Table "hosts" has no column "color".', 'hosts.csv:2: Table "hosts" has no column "".'],
    ],
    ['a missing header', { 'hosts.csv': '"n1","10.0.0.1"\n' }, [/^hosts.csv:1: The header is missing/]],
    ['an empty file', { 'hosts.csv': '' }, [/^hosts.csv:1: The file is empty/]],
    [
      'a missing key column',
      { 'networks.csv': '#net,gateway\n10.0.0.0,' },
      ['networks.csv:1: The header lacks the column "mask", which is a key of table "networks".'],
    ],
    [
      'a column named twice',
      { 'hosts.csv': '#node,ip,ip\nn1,a,b' },
      ['hosts.csv:1: The header names the column "ip" twice.'],
    ],
    [
      'too many fields',
      { 'hosts.csv': '#node,ip\nn1,10.0.0.1,\n' },
      ['hosts.csv:2: The row has 3 fields, but the header names 2 columns.'],
    ],
    [
      'a quote that is not closed',
      { 'hosts.csv': '#node,ip\nn1,\n"n2","10.0.0.2\nn3,\n' },
      ['hosts.csv:3: The quote that opens field 2 is never closed.'],
    ],
    [
      'text after a quote',
      { 'hosts.csv': '#node,ip\n"n"1,\n' },
      ['hosts.csv:2: Field 1 goes on after its closing quote; write a quote inside a value twice.'],
    ],
    [
      'text that is not UTF-8',
      { 'hosts.csv': Buffer.from('#node,comments\nn1,\xfc\n', 'latin1') },
      ['hosts.csv:2: The line is not UTF-8 text; convert the file first.'],
    ],
    [
      'the same key twice',
      { 'switch.csv': '#node,switch,port\nn1,s1,1\nn1,s1,2\n\n"n1","s1","1"\n' },
      ['switch.csv:5: The row has the same key as the one on line 2.'],
    ],
    [
      'a row without its key',
      { 'hosts.csv': '#ip,node\n10.0.0.1,""\n10.0.0.1\n' },
      [
        'hosts.csv:2: The row has no value for its key "node".',
        'hosts.csv:3: The row has no value for its key "node".',
      ],
    ],
    [
      'a bad value',
      { 'hosts.csv': '#node,ip\nn1,10.0.0.1\n"n2","ten"\n' },
      ['hosts.csv:3: hosts.ip of n2: "ten" is not an IP address.'],
    ],
    [
      'a value that is too long',
      { 'hosts.csv': `#node,comments\nn1,${tooLong}` },
      [/^hosts.csv:2: hosts.comments of n1: the value is longer/],
    ],
    [
      'control characters',
      { 'hosts.csv': '#node,comments\n"n1","a\nb"\n"n2","\t"\n"n3","ok"\n"n4","\u0000"' },
      [
        /^hosts.csv:2: hosts.comments of n1: .*control character/,
        /^hosts.csv:4: hosts.comments of n2: /,
        /^hosts.csv:6: hosts.comments of n4: /,
      ],
    ],
    [
      'a bad node name',
      { 'nodelist.csv': '#node\nn1.example.com\n' },
      [/^nodelist.csv:2: "n1.example.com" is not a node name/],
    ],
    ['a bad group name', { 'hosts.csv': '#node\n"@all"\n' }, [/^hosts.csv:2: "@all" is not a group name/]],
    [
      'bad policy priorities',
      { 'policy.csv': '#priority,name,rule\n"one","root","allow"\n"/1/","root","allow"\n' },
      [/^policy.csv:2: "one" is not a priority/, /^policy.csv:3: "\/1\/" is not a priority/],
    ],
    [
      'an account with an endless password',
      { 'passwd.csv': `#key,username,password\nxcat,a,${tooLong}` },
      [/^passwd.csv:2: A password has at most/],
    ],
    [
      'faults in several files',
      { 'hosts.csv': '#node,ip\nn1,x', 'aaa.csv': '', 'mac.csv': '#node,mac\nn1,x' },
      [/^aaa.csv: /, /^hosts.csv:2: /, /^mac.csv:2: /],
    ],
  ])('%s', async (_, files, expected) => {
    writeDump(dump, files);
    const sentences = await sentencesOf(importTables(data, dump));
    expect(sentences).toEqual([
      ...expected.map((each) => (typeof each === 'string' ? each : expect.stringMatching(each))),
      nothing,
    ]);
    expect(stored(data)).toEqual({});
  });

  it('are collected up to a limit', async () => {
    writeDump(dump, { 'hosts.csv': `#node,ip\n${Array.from({ length: 60 }, (_v, i) => `n${i},bad\n`).join('')}` });
    const sentences = await sentencesOf(importTables(data, dump));
    expect(sentences).toHaveLength(51);
    expect(sentences[49]).toMatch(/^hosts.csv:51: /);
    expect(sentences[50]).toBe('Checking ended after 50 faults; there may be more. Nothing was imported.');
  });

  it('leave a filled database as it was', async () => {
    await fill(data, { ...firstStart, nodelist: [{ node: 'old' }], ipmi: [{ node: 'old', password: 'p' }] });
    const before = data.store.current;
    writeDump(dump, { 'nodelist.csv': '#node\nn1\n', 'hosts.csv': '#node,ip\nn1,bad\n' });
    await sentencesOf(importTables(data, dump, { replace: true }));
    expect(data.store.head).toBe(before);
    expect(data.store.current).toBe(before);
  });

  it('do not show secrets', async () => {
    writeDump(dump, {
      'ipmi.csv': '#node,bmc,password\nn1,not/a/host,hush1\nn1,,hush2\n,,hush3\nn2,,hush4,hush5\n"n3",,"hush6"x\n',
    });
    const sentences = await sentencesOf(importTables(data, dump));
    expect(sentences).toHaveLength(6);
    expect(sentences.join()).not.toContain('hush');
  });
});

it('tables and columns that are unknown here can be skipped', async () => {
  writeDump(dump, {
    'hosts.csv': '#node,color,ip\n"n1","red","10.0.0.1"\n',
    'colors.csv': 'anything',
    'auditlog.csv': '#recid\n1\n',
    README: '',
  });
  expect(await importTables(data, dump, { skipUnknown: true })).toEqual({
    tables: 1,
    rows: 1,
    skipped: [
      'README: not a .csv file.',
      'auditlog.csv: logs are not imported.',
      'colors.csv: the table is unknown here.',
      'hosts.csv: column "color" is unknown here.',
    ],
    notes: [],
  });
  expect(stored(data)).toEqual({ hosts: [{ node: 'n1', ip: '10.0.0.1' }] });
});

describe('a data directory', () => {
  it('is made if it is absent, and keeps what was imported', async () => {
    const fresh = join(parent, 'fresh');
    writeDump(dump, { 'nodelist.csv': '#node\nn1\n', 'ipmi.csv': '#node,password\nn1,p\n' });
    expect(await importTables(fresh, dump)).toMatchObject({ tables: 2, rows: 2 });
    await withStore(fresh, async (opened) => {
      expect(stored(opened, { opened: true })).toEqual({
        ipmi: [{ node: 'n1', password: 'p' }],
        nodelist: [{ node: 'n1' }],
      });
    });
  });

  it('is not made for a dump that has nothing to import', async () => {
    const absent = join(parent, 'absent');
    rmSync(dump, { recursive: true, force: true });
    expect((await sentencesOf(importTables(absent, dump)))[0]).toMatch(/^The directory .*dump cannot be read: /);
    mkdirSync(dump);
    expect((await sentencesOf(importTables(absent, dump)))[0]).toMatch(/^There is nothing to import in /);
    expect(existsSync(absent)).toBe(false);
  });

  it('is left alone while a server works on it', async () => {
    writeDump(dump, { 'nodelist.csv': '#node\nn1\n' });
    expect((await sentencesOf(importTables(join(parent, 'data'), dump)))[0]).toMatch(/is in use by process/);
  });
});

describe('a database that is not empty', () => {
  it('is refused without --replace', async () => {
    await fill(data, { nodelist: [{ node: 'old' }], hosts: [{ node: 'old' }] });
    writeDump(dump, { 'nodelist.csv': '#node\nn1\n' });
    expect(await sentencesOf(importTables(data, dump))).toEqual([
      'The database is not empty: it has rows in hosts, nodelist. Use --replace to replace what it holds.',
    ]);
  });

  it('is replaced as a whole, but for accounts and policy the dump does not bring', async () => {
    await fill(data, {
      passwd: [...firstStart['passwd']!, { key: 'system', username: 'root', password: 'p' }],
      policy: firstStart['policy']!,
      site: [{ key: 'domain', value: 'old' }],
      token: [{ tokenid: 'b'.repeat(64), username: 'root' }],
      nodelist: [{ node: 'n1', groups: 'old', comments: 'old' }, { node: 'old' }],
      hosts: [{ node: 'old' }],
    });
    writeDump(dump, { 'nodelist.csv': '#groups,node\nnew,n1\nnew,n2\n' });
    expect(await importTables(data, dump, { replace: true })).toEqual({
      tables: 1,
      rows: 2,
      skipped: [],
      notes: [
        'The dump has no accounts in passwd.csv: those that were here are kept.',
        'There is no policy.csv: the policy was kept.',
      ],
    });
    expect(stored(data)).toEqual({
      ...firstStart,
      nodelist: [
        { node: 'n1', groups: 'new' },
        { node: 'n2', groups: 'new' },
      ],
    });
  });

  it('loses the accounts and rules that the dump does not have', async () => {
    await fill(data, firstStart);
    const passwd = [{ key: 'xcat', username: 'admin', password: accountHash }];
    writeDump(dump, {
      'passwd.csv': `#key,username,password\nxcat,admin,${accountHash}\n`,
      'policy.csv': '#priority,name,rule\n7,admin,allow\n',
    });
    await importTables(data, dump, { replace: true });
    expect(stored(data)).toEqual({ passwd, policy: [{ priority: '7', name: 'admin', rule: 'allow' }] });
  });
});

describe('an import after which no account has full rights', () => {
  it.each<[string, Record<string, string>]>([
    ['the rule is gone', { 'policy.csv': '#priority,name,rule\n1,nobody,allow\n' }],
    ['the account is disabled', { 'passwd.csv': '#key,username,password,disable\nxcat,root,********,1\n' }],
    ['the account has no password', { 'passwd.csv': '#key,username\nxcat,root\n' }],
  ])('is refused: %s', async (_, files) => {
    await fill(data, firstStart);
    writeDump(dump, files);
    expect(await sentencesOf(importTables(data, dump, { replace: true }))).toEqual([
      nothing,
      expect.stringMatching(/no account would have full rights/),
      expect.stringMatching(/Start muster once|--with-secrets/),
    ]);
    expect(stored(data)).toEqual(firstStart);
  });

  it('is not one that brings other passwords but no accounts: those that are here stay', async () => {
    await fill(data, firstStart);
    writeDump(dump, {
      'passwd.csv': '#key,username,password\nsystem,root,p\n',
      'policy.csv': '#priority,name,rule\n1,root,allow\n',
    });
    const { notes } = await importTables(data, dump, { replace: true });
    expect(notes).toContain('The dump has no accounts in passwd.csv: those that were here are kept.');
    expect(stored(data, { opened: true })['passwd']).toEqual([
      { key: 'system', username: 'root', password: 'p' },
      ...firstStart['passwd']!,
    ]);
  });
});

describe('secrets', () => {
  it('are stored sealed, and account passwords hashed', async () => {
    writeDump(dump, {
      'passwd.csv': `#key,username,password\nxcat,root,cluster\nxcat,admin,${accountHash}\nsystem,root,${accountHash}\n`,
      'policy.csv': '#priority,name,rule\n1,root,allow\n',
      'ipmi.csv': '#node,password\nn1,"a ""b"""\n',
    });
    await importTables(data, dump);
    const raw = stored(data);
    expect(raw['ipmi']![0]!['password']).toMatch(/^\{m1\}/);
    const [system, admin, root] = raw['passwd']!.map((row) => row['password']!);
    expect(system).toMatch(/^\{m1\}/);
    expect(admin).toBe(accountHash);
    expect(await verifyPassword('cluster', root!)).toBe(true);
    const opened = stored(data, { opened: true });
    expect(opened['ipmi']).toEqual([{ node: 'n1', password: 'a "b"' }]);
    expect(opened['passwd']![0]!['password']).toBe(accountHash);
  });

  it('that the dump hides stay what they are', async () => {
    await fill(data, {
      ...firstStart,
      ipmi: [
        { node: 'n1', bmc: 'b1', password: 'keep' },
        { node: 'n2', password: 'go' },
      ],
    });
    writeDump(dump, {
      'passwd.csv': '#key,username,password\n"xcat","root","********"\n',
      'ipmi.csv': '#node,password\n"n1","********"\nn2,\nn3,********\nn4,new\n',
      'token.csv': '#tokenid,username\n"********","root"\n"********","root"\n',
    });
    const { notes } = await importTables(data, dump, { replace: true });
    expect(notes).toEqual([
      'ipmi.csv: 1 hidden secrets are not known here and stay unset.',
      'token.csv: 2 tokens were left out; their users log in again.',
      'There is no policy.csv: the policy was kept.',
    ]);
    expect(stored(data, { opened: true })).toEqual({
      ...firstStart,
      ipmi: [{ node: 'n1', password: 'keep' }, { node: 'n2' }, { node: 'n3' }, { node: 'n4', password: 'new' }],
    });
  });
});

describe('what the reference system takes and we refuse', () => {
  const files = {
    'networks.csv': '#netname,net,mask,comments\nsix,fd00:1::,64,\nfour,10.1.0.0,16,"two\\nlines"\n',
    'nodelist.csv': '#node,groups,comments\nn1,all,"a\u0007b"\n,all,lost\nn2,all,\n',
  };

  it('is mended or left out by options, and each is told with file and line', async () => {
    await fill(data, firstStart);
    writeDump(dump, files);
    expect((await sentencesOf(importTables(data, dump))).at(-1)).toBe(nothing);
    const report = await importTables(data, dump, { clean: true, skipBadRows: true });
    expect(report.cleaned).toEqual([
      'networks.csv:2: the mask "64" became "/64".',
      'networks.csv:3: the mask "16" became "255.255.0.0".',
      'nodelist.csv:2: control characters in comments became blanks.',
    ]);
    expect(report.skipped).toEqual(['nodelist.csv:3: the row was left out. The row has no value for its key "node".']);
    expect(stored(data)).toMatchObject({
      networks: [{ mask: '255.255.0.0' }, { mask: '/64' }],
      nodelist: [{ node: 'n1', comments: 'a b' }, { node: 'n2' }],
    });
  });

  it('is refused with one of them alone', async () => {
    await fill(data, firstStart);
    writeDump(dump, files);
    expect(await sentencesOf(importTables(data, dump, { clean: true }))).toEqual([
      'nodelist.csv:3: The row has no value for its key "node".',
      nothing,
    ]);
  });
});
