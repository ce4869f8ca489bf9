import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tables } from '../../src/database/tables.ts';
import { written } from '../harness/output.ts';
import { rootPassword, startServer, type TestServer } from '../harness/server.ts';
import { logIn } from '../harness/users.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ environment: { MUSTER_LOG_LEVEL: 'trace' } });
});
afterAll(() => server.stop());

const hidden = '********';

/** Secret columns as the decisions list them, with the keys of a row that holds one. */
const secretColumns: [table: string, column: string, keys: string, more?: Record<string, string>][] = [
  ['passwd', 'password', 'key=system,username=root'],
  ['hooks', 'secret', 'name=h1'],
  ['ipmi', 'password', 'node=s1'],
  ['openbmc', 'password', 'node=s1'],
  ['mpa', 'password', 'mpa=m1,username=u'],
  ['ppchcp', 'password', 'hcp=h1'],
  ['ppcdirect', 'password', 'hcp=h1,username=u'],
  ['websrv', 'password', 'node=s1'],
  ['pdu', 'password', 'node=s1'],
  ['pdu', 'community', 'node=s1'],
  ['pdu', 'authkey', 'node=s1'],
  ['pdu', 'privkey', 'node=s1'],
  ['switches', 'password', 'switch=sw1'],
  ['switches', 'sshpassword', 'switch=sw1'],
  ['switches', 'auth', 'switch=sw1'],
  ['switches', 'privacy', 'switch=sw1'],
  ['bmcrotation', 'password', 'node=s1'],
  ['bmcauthority', 'privatekey', 'name=a1'],
  ['domain', 'adminpassword', 'node=s1'],
  ['iscsi', 'passwd', 'node=s1'],
  ['vm', 'vidpassword', 'node=s1'],
  ['prodkey', 'key', 'node=s1,product=p1'],
];

const clearText = (table: string, column: string): string => `clear-${table}-${column}-text`;

describe('a secret column', () => {
  beforeAll(async () => {
    await server.ok('POST', '/nodes/s1', { groups: 'all,secretive', mgt: 'ipmi' });
    for (const [table, column, keys] of secretColumns)
      await server.ok('PUT', `/tables/${table}/rows/${keys}`, { [column]: clearText(table, column) });
  });

  it('is every one that the table data mark', () => {
    const marked = [...tables.values()].flatMap(({ name, secret }) => [...secret].map((column) => `${name}.${column}`));
    const expected = [
      ...secretColumns.map(([table, column]) => `${table}.${column}`),
      'token.tokenid',
      'oidcgrant.refresh',
    ];
    expect(marked.sort()).toEqual(expected.sort());
  });

  it.each(secretColumns)('%s.%s is shown as stars in every way to read it', async (table, column, keys) => {
    for (const path of [`/rows/${keys}`, `/rows/${keys}/${column}`, '/rows', '/rows/ALLROWS']) {
      const { [table]: rows } = await server.ok('GET', `/tables/${table}${path}`);
      expect(rows.map((row: Record<string, string>) => row[column])).toContain(hidden);
      expect(JSON.stringify(rows)).not.toContain('clear-');
    }
  });

  it.each(secretColumns)('%s.%s cannot name a row or select nodes', async (table, column, keys) => {
    const stored = clearText(table, column);
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const body = method === 'PUT' ? { body: { comments: 'x' } } : {};
      const reply = await server.call(method, `/tables/${table}/rows/${keys},${column}=${stored}`, body);
      expect([method, reply.status]).toEqual([method, 403]);
    }
    const criterion = await server.call('GET', `/nodes/${table}.${column}==${stored}/nodels`);
    expect([criterion.status, criterion.json.errorcode]).toEqual([403, 1]);
    const pattern = await server.call('GET', `/nodes/${table}.${column}=~clear.*/nodels`);
    expect(pattern.status).toBe(403);
  });

  it.each(secretColumns)('%s.%s keeps its value when the stars are written back', async (table, column, keys) => {
    const before = sealed(table, column);
    expect(before).not.toEqual([]);
    await server.ok('PUT', `/tables/${table}/rows/${keys}`, { [column]: hidden });
    await server.ok('PUT', `/tables/${table}/rows/${keys}`, { [column]: hidden, comments: 'touched' });
    expect(sealed(table, column)).toEqual(before);
    await server.ok('PUT', `/tables/${table}/rows/${keys}`, { [column]: clearText(table, column) });
    expect(sealed(table, column)).not.toEqual(before);
  });

  it.each(['/nodes/s1', '/nodes/ALLRESOURCES', '/nodes/s1/attrs/bmcpassword', '/nodes/s1/explain/bmcpassword'])(
    'is hidden at %s, in every form of reply',
    async (path) => {
      for (const query of [{}, { pretty: 1 }, { debug: 1 }, { xcoll: 1 }, { ver: '1.0' }]) {
        const { text } = await server.call('GET', path, { query });
        expect(text).toContain(hidden);
        expect(text).not.toMatch(/clear-|\{m1\}/);
      }
      const lines = await server.call('GET', path, { headers: { Accept: 'application/x-ndjson' } });
      expect(lines.text).toContain(hidden);
      expect(lines.text).not.toMatch(/clear-|\{m1\}/);
    },
  );

  it('is hidden in groups, whose members inherit it hidden', async () => {
    await server.ok('POST', '/nodes/s2', { groups: 'secretive', mgt: 'ipmi' });
    await server.ok('PUT', '/groups/secretive', { mgt: 'ipmi', bmcpassword: 'clear-of-the-group' });
    expect((await server.ok('GET', '/groups/secretive')).secretive.bmcpassword).toBe(hidden);
    expect((await server.ok('GET', '/nodes/s2')).s2.bmcpassword).toBe(hidden);
    const { ipmi } = await server.ok('GET', '/tables/ipmi/nodes/s2');
    expect(ipmi).toEqual([{ name: 's2', password: hidden }]);
  });

  it('is not told apart by xcoll or by an ETag', async () => {
    await server.ok('POST', '/nodes/x1', { groups: 'x', mgt: 'ipmi', bmcpassword: 'clear-one' });
    await server.ok('POST', '/nodes/x2', { groups: 'x', mgt: 'ipmi', bmcpassword: 'clear-two' });
    expect(Object.keys(await server.ok('GET', '/nodes/x', undefined, { query: { xcoll: 1 } }))).toEqual(['x1,x2']);
  });

  it('is hidden in debug messages of writes', async () => {
    const { text } = await server.call('PUT', '/nodes/s1', {
      query: { debug: 1 },
      body: { bmcpassword: 'clear-debug' },
    });
    expect(text).toContain('bmcpassword=xxxxxxxx');
    expect(text).not.toContain('clear-debug');
    const rows = await server.call('PUT', '/tables/ipmi/rows/node=s1', {
      query: { debug: 1 },
      body: { password: 'clear-debug' },
    });
    expect(rows.text).toContain('ipmi.password=xxxxxxxx');
    expect(rows.text).not.toContain('clear-debug');
    const bulk = await server.call('PUT', '/nodes', {
      query: { debug: 1 },
      body: { s1: { bmcpassword: 'clear-debug' } },
    });
    expect(bulk.text).not.toContain('clear-debug');
  });

  it('is hidden in errors about it', async () => {
    const attempts: [string, string, unknown][] = [
      ['PUT', '/nodes/s1', { bmcpassword: 'clear-error\n' }],
      ['PUT', '/nodes/s1', { bmcpassword: ['clear-error'] }],
      ['PUT', '/nodes/s1', { bmcpassword: 'clear-error', bogus: 'x' }],
      ['PUT', '/nodes/s1', { bmcpassword: 'clear-error', options: { '-p': '' } }],
      ['PUT', '/tables/ipmi/rows/node=s1', { password: 'clear-error\u0001' }],
      ['PUT', '/tables/passwd/rows/key=xcat,username=u', { password: 'clear-error\u0001' }],
      ['PUT', '/tables/passwd/rows/key=xcat,username=u', { password: `clear-error${'x'.repeat(600)}` }],
    ];
    for (const [method, path, body] of attempts) {
      const reply = await server.call(method, path, { body });
      expect([path, reply.status >= 400, reply.text.includes('clear-error')]).toEqual([path, true, false]);
    }
  });

  it('is in no audit record', async () => {
    const { auditlog } = await server.ok('GET', '/tables/auditlog/rows');
    expect(auditlog.length).toBeGreaterThan(100);
    expect(JSON.stringify(auditlog)).not.toMatch(/clear-|\{m1\}/);
  });

  it('is in no log line', async () => {
    expect(await written(server)).not.toMatch(/clear-/);
  });

  it('is in no file in clear text', async () => {
    await logIn(server, 'root', rootPassword);
    for (const [name, bytes] of dataFiles()) {
      for (const secret of ['clear-', server.token]) {
        const at = bytes.indexOf(secret);
        expect([name, at < 0 ? '' : bytes.toString('latin1', at - 80, at + 80)]).toEqual([name, '']);
      }
    }
    const journal = openDatabase((database) =>
      database.prepare("select changes from muster_journal where changes like '%{m1}%'").all(),
    );
    expect(journal.length).toBeGreaterThan(secretColumns.length);
    expect(statSync(join(server.data, 'secret.key')).mode & 0o777).toBe(0o600);
  });
});

describe('an account', () => {
  const path = (name: string) => `/tables/passwd/rows/key=xcat,username=${name}`;
  const login = async (userName: string, userPW: string) =>
    (await server.call('POST', '/tokens', { token: null, body: { userName, userPW } })).status;
  const stored = (name: string) =>
    openDatabase((database) =>
      database.prepare('select password from passwd where key = ? and username = ?').pluck().get('xcat', name),
    ) as string;

  it('stores the hash of its password and logs in with either', async () => {
    await server.ok('PUT', path('anna'), { password: 'first' });
    expect(stored('anna')).toMatch(/^\$y\$/);
    expect(await login('anna', 'first')).toBe(201);
    await server.ok('PUT', path('anna'), { password: 'second' });
    expect(await login('anna', 'first')).toBe(401);
    expect(await login('anna', 'second')).toBe(201);
    const reply = await server.call('POST', '/tokens', {
      token: null,
      body: { userName: 'anna', userPW: stored('anna') },
    });
    expect(reply.status).toBe(201);
    const id = String(reply.headers['x-request-id']);
    const { auditlog } = await server.ok('GET', `/tables/auditlog/rows/comments=${id}`);
    expect(auditlog).toMatchObject([{ userid: 'anna', command: 'gettoken', status: 'Allowed (by stored hash)' }]);
  });

  it('takes a crypt hash as it is', async () => {
    const hash = '$6$abcdefgh$XW8hnz7ECBtEprBqcxpfuzBlgDFtvVcbhZUqULOzZNp9lhcVmsd/8mC3zQbhMCDvJw1Hgr0ytyfS2dzyoc3Mn.';
    await server.ok('PUT', path('bert'), { password: hash });
    expect(stored('bert')).toBe(hash);
  });

  it('does not log in with the stored hash if hashlogin is no', async () => {
    await server.ok('PUT', '/globalconf/attrs/hashlogin', { hashlogin: 'no' });
    expect(await login('anna', stored('anna'))).toBe(401);
    expect(await login('anna', 'second')).toBe(201);
    await server.ok('DELETE', '/globalconf/attrs/hashlogin');
    expect(await login('anna', stored('anna'))).toBe(201);
  });

  it('keeps its password when the stars are written back', async () => {
    const before = stored('anna');
    await server.ok('PUT', path('anna'), { password: hidden, comments: 'x' });
    expect(stored('anna')).toBe(before);
  });

  it('that is removed or disabled takes its tokens along', async () => {
    const token = await logIn(server, 'anna', 'second');
    expect((await server.call('GET', '/tokens', { token })).status).toBe(200);
    await server.ok('PUT', path('anna'), { disable: '1' });
    expect((await server.call('GET', '/tokens', { token })).status).toBe(401);
    expect(await login('anna', 'second')).toBe(401);
    await server.ok('DELETE', path('anna'));
    expect((await server.call('GET', '/tokens', { token })).status).toBe(401);
  });

  it('is told from other rows of passwd, whose secrets are encrypted', async () => {
    await server.ok('PUT', '/tables/passwd/rows/key=ipmi,username=admin', { password: 'clear-ipmi' });
    const sealedText = openDatabase((database) =>
      database.prepare("select password from passwd where key = 'ipmi'").pluck().get(),
    );
    expect(sealedText).toMatch(/^\{m1\}/);
    expect(await login('admin', 'clear-ipmi')).toBe(401);
  });

  it('does not become another kind of row without its password', async () => {
    const reply = await server.call('PUT', '/tables/passwd/rows/key=ipmi,username=admin', { body: { key: 'xcat' } });
    expect(reply.status).toBe(403);
    expect(await login('admin', 'clear-ipmi')).toBe(401);
  });
});

function openDatabase<T>(work: (database: Sqlite.Database) => T): T {
  const database = new Sqlite(join(server.data, 'muster.sqlite'), { readonly: true });
  try {
    return work(database);
  } finally {
    database.close();
  }
}

/** What the table holds of a secret column. */
const sealed = (table: string, column: string): unknown[] =>
  openDatabase((database) =>
    database.prepare(`select "${column}" from "${table}" where "${column}" <> ''`).pluck().all(),
  );

const dataFiles = (): [name: string, bytes: Buffer][] =>
  readdirSync(server.data, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name))]);
