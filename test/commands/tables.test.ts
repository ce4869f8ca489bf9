import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isCryptHash, verifyPassword } from '../../src/access/crypt.ts';
import { delEntries, setAttribs, setNodesAttribs } from '../../src/commands/table-writes.ts';
import {
  getAttribs,
  getTablesAllNodeAttribs,
  getTablesAllRowAttribs,
  getTablesNodesAttribs,
} from '../../src/commands/table-readings.ts';
import { keyOf, type Row, tableNamed } from '../../src/database/tables.ts';
import { answerOf, memoryStore, type TestStore } from '../harness/store.ts';

let cluster: TestStore;
beforeAll(async () => {
  cluster = await memoryStore({ audit: true });
  await cluster.put(
    ['nodelist', { node: 'n1', groups: 'g' }],
    ['nodelist', { node: 'n2', groups: 'g' }],
    ['nodelist', { node: 'h1', groups: 'g', hidden: '1' }],
    ['nodehm', { node: 'n1', mgt: 'ipmi' }],
    ['ipmi', { node: 'n1', bmc: 'b', password: 'secret' }],
    ['site', { key: 'domain', value: 'a.b' }],
  );
});
afterAll(() => cluster.close());

const columns = undefined;
const fault = (kind: string, text = '') =>
  expect.objectContaining({ name: 'Fault', kind, message: expect.stringContaining(text) });
const set = (table: string, keys: string, values: Row) => cluster.run(setAttribs, { table, keys, columns: values });
const passwd = (key: string, username?: string) =>
  cluster.current.get('passwd', keyOf(tableNamed('passwd'), { key, ...(username ? { username } : {}) }));

describe('reading', () => {
  test('rows of named nodes, also of those with nothing in the table', async () => {
    const answer = answerOf(
      await cluster.run(getTablesNodesAttribs, { tables: ['nodehm', 'ipmi'], range: 'n1,n2', columns }),
    );
    expect(answer).toEqual({
      nodehm: [{ name: 'n1', mgt: 'ipmi' }, { name: 'n2' }],
      ipmi: [{ name: 'n1', bmc: 'b', password: '********' }, { name: 'n2' }],
    });
  });

  test('rows of all nodes that have anything in the table', async () => {
    const answer = answerOf(await cluster.run(getTablesAllNodeAttribs, { tables: ['nodehm', 'vm'], columns }));
    expect(answer).toEqual({ nodehm: [{ name: 'n1', mgt: 'ipmi' }], vm: [] });
  });

  test('stored rows of several tables', async () => {
    const answer = answerOf(await cluster.run(getTablesAllRowAttribs, { tables: ['site', 'ipmi', 'zone'], columns }));
    expect(answer).toEqual({
      site: [{ key: 'domain', value: 'a.b' }],
      ipmi: [{ node: 'n1', bmc: 'b', password: '********' }],
      zone: [],
    });
  });

  test('rows by their keys', async () => {
    const read = async (table: string, keys: string) =>
      answerOf(await cluster.run(getAttribs, { table, keys, columns }));
    expect(await read('site', 'key=domain')).toEqual({ site: [{ key: 'domain', value: 'a.b' }] });
    await expect(read('site', 'key=nope')).rejects.toEqual(fault('unknown-object'));
    await expect(read('nope', 'key=x')).rejects.toEqual(fault('unknown-object', 'nope'));
    await expect(read('ipmi', 'password=secret')).rejects.toEqual(fault('invalid', 'secret'));
  });

  test('an unknown node or a table without nodes is an error', async () => {
    const read = (table: string, range: string) =>
      cluster.run(getTablesNodesAttribs, { tables: [table], range, columns });
    await expect(read('nodehm', 'zz')).rejects.toEqual(fault('unknown-object', 'zz'));
    await expect(read('site', 'n1')).rejects.toEqual(fault('invalid', 'site'));
  });

  test('the logs, with what was just done', async () => {
    await set('site', 'key=logged', { value: '1' });
    const answer = answerOf(
      await cluster.run(getAttribs, {
        table: 'auditlog',
        keys: 'userid=root,command=setAttribs',
        columns: ['command', 'status'],
      }),
    );
    expect((answer as { auditlog: Row[] }).auditlog.at(-1)).toEqual({ command: 'setAttribs', status: 'Allowed' });
    await cluster.run(delEntries, { table: 'site', keys: 'key=logged' });
  });
});

describe('writing', () => {
  test('columns of several tables of nodes at once, or of none', async () => {
    await cluster.run(setNodesAttribs, { range: 'n2,h1', tables: { nodepos: { rack: '1' }, vpd: { serial: 's' } } });
    expect(cluster.rows('nodepos')).toEqual([
      { node: 'h1', rack: '1' },
      { node: 'n2', rack: '1' },
    ]);
    const tables: Record<string, Row> = { nodepos: { rack: '2' }, vpd: { bogus: 's' } };
    await expect(cluster.run(setNodesAttribs, { range: 'n2', tables })).rejects.toEqual(fault('invalid', 'bogus'));
    expect(cluster.current.get('nodepos', 'n2')).toEqual({ node: 'n2', rack: '1' });
    await expect(cluster.run(setNodesAttribs, { range: 'n2', tables: { site: { value: 'x' } } })).rejects.toEqual(
      fault('invalid'),
    );
    await expect(cluster.run(setNodesAttribs, { range: 'zz', tables })).rejects.toEqual(fault('unknown-object', 'zz'));
  });

  test.each(['token', 'auditlog', 'eventlog'])('not table %s', async (table) => {
    const key = tableNamed(table).columns.find((column) => !tableNamed(table).secret.has(column))!;
    await expect(set(table, `${key}=1`, { comments: 'x' })).rejects.toEqual(fault('invalid', table));
    await expect(cluster.run(delEntries, { table, keys: `${key}=1` })).rejects.toEqual(fault('invalid', table));
  });

  test('removes matching rows, and matching none is a success', async () => {
    await set('site', 'key=a', { value: '1' });
    await set('site', 'key=b', { value: '1' });
    await cluster.run(delEntries, { table: 'site', keys: 'value=1' });
    expect(cluster.rows('site')).toEqual([{ key: 'domain', value: 'a.b' }]);
    await expect(cluster.run(delEntries, { table: 'site', keys: 'value=1' })).resolves.toBeDefined();
  });
});

describe('passwords', () => {
  test('of accounts are stored as hashes, others encrypted', async () => {
    await set('passwd', 'key=xcat,username=alice', { password: 'wonder' });
    await set('passwd', 'key=ipmi,username=ADMIN', { password: 'wonder' });
    const account = passwd('xcat', 'alice')!['password']!;
    expect(isCryptHash(account)).toBe(true);
    expect(await verifyPassword('wonder', account)).toBe(true);
    expect(cluster.box.open(passwd('ipmi', 'ADMIN')!['password']!, 'passwd.password')).toBe('wonder');
  });

  test('a hash is stored as it is, and stars leave it', async () => {
    const hash = passwd('xcat', 'root')!['password']!;
    await set('passwd', 'key=xcat,username=hashed', { password: hash });
    await set('passwd', 'key=xcat,username=hashed', { password: '********', comments: 'x' });
    expect(passwd('xcat', 'hashed')).toEqual({ key: 'xcat', username: 'hashed', password: hash, comments: 'x' });
  });

  test('of rows of both kinds, changed together, have each its form', async () => {
    await set('passwd', 'key=xcat,username=both', { password: 'a' });
    await set('passwd', 'key=hmc,username=both', { password: 'a' });
    await set('passwd', 'username=both', { password: 'b' });
    expect(await verifyPassword('b', passwd('xcat', 'both')!['password']!)).toBe(true);
    expect(cluster.box.open(passwd('hmc', 'both')!['password']!, 'passwd.password')).toBe('b');
  });

  test('move between accounts and others only with a new password', async () => {
    await set('passwd', 'key=blade,username=mover', { password: 'a' });
    await expect(set('passwd', 'key=blade,username=mover', { key: 'xcat' })).rejects.toEqual(
      fault('invalid', 'password'),
    );
    await set('passwd', 'key=blade,username=mover', { key: 'xcat', password: 'b' });
    expect(await verifyPassword('b', passwd('xcat', 'mover')!['password']!)).toBe(true);
    await expect(set('passwd', 'key=xcat,username=mover', { key: 'blade', password: '********' })).rejects.toEqual(
      fault('invalid'),
    );
  });

  test('are unset by NULL, and a row without a user name is its own', async () => {
    await set('passwd', 'key=system', { password: 'a', username: '' });
    expect(passwd('system')).toEqual({ key: 'system', password: expect.stringContaining('{m1}') });
    await set('passwd', 'key=system', { username: 'NULL', password: 'NULL', comments: 'c' });
    expect(passwd('system')).toEqual({ key: 'system', comments: 'c' });
    await set('passwd', 'key=xcat,username=gone', { password: 'a' });
    await set('passwd', 'key=xcat,username=gone', { password: 'NULL' });
    expect(passwd('xcat', 'gone')).toEqual({ key: 'xcat', username: 'gone' });
  });

  test('the last account with full rights cannot lose its own', async () => {
    await expect(set('passwd', 'key=xcat,username=root', { password: '' })).rejects.toEqual(
      fault('invalid', 'full rights'),
    );
    await expect(cluster.run(delEntries, { table: 'policy', keys: 'priority=1' })).rejects.toEqual(
      fault('invalid', 'full rights'),
    );
  });
});

describe('the audit log', () => {
  const logged = async (request: string) =>
    (await cluster.store.database.readLog({ table: 'auditlog', where: { comments: request }, after: 0, limit: 9 })).map(
      ({ command, userid, status }) => ({ command, userid, status }),
    );

  test('knows of a write before its reply', async () => {
    await cluster.run(setAttribs, { table: 'site', keys: 'key=x', columns: { value: '1' } }, { id: 'w' });
    expect(await logged('w')).toEqual([{ command: 'setAttribs', userid: 'root', status: 'Allowed' }]);
  });

  test('knows of a refusal before its reply', async () => {
    const denied = cluster.run(
      setAttribs,
      { table: 'site', keys: 'key=x', columns: { value: '2' } },
      { id: 'd', user: 'mallory' },
    );
    await expect(denied).rejects.toEqual(fault('denied', 'mallory'));
    expect(await logged('d')).toEqual([{ command: 'setAttribs', userid: 'mallory', status: 'Denied' }]);
  });

  test('knows of a failed write before its reply', async () => {
    const failed = cluster.run(setAttribs, { table: 'site', keys: 'bogus=x', columns: { value: '2' } }, { id: 'f' });
    await expect(failed).rejects.toEqual(fault('invalid', 'bogus'));
    expect(await logged('f')).toEqual([{ command: 'setAttribs', userid: 'root', status: 'Failed' }]);
  });

  test('knows of a read soon after', async () => {
    await cluster.run(getAttribs, { table: 'site', keys: 'key=domain', columns }, { id: 'r' });
    await expect.poll(() => logged('r')).toEqual([{ command: 'getAttribs', userid: 'root', status: 'Allowed' }]);
  });
});
