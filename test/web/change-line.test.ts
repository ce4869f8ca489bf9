import { describe, expect, it } from 'vitest';
import { aboutOf } from '../../web/model/change-line.ts';

type Columns = Readonly<Record<string, string>> | null;

const row = (table: string, key: Record<string, string>, before: Columns, after: Columns) => ({
  table,
  key,
  before: before && { ...key, ...before },
  after: after && { ...key, ...after },
});

const line = (...changes: ReturnType<typeof row>[]): string =>
  aboutOf({ changes, rows: changes.length, tables: [...new Set(changes.map(({ table }) => table))] });

describe('the line of a change', () => {
  it('says what a row is whose key alone says nothing', () => {
    expect(line(row('policy', { priority: '8' }, null, { name: 'viewer' }))).toBe('rule 8: made');
    const net = { net: '10.9.0.0', mask: '255.255.255.0' };
    expect(line(row('networks', net, { gateway: '' }, { gateway: '10.9.0.1' }))).toBe(
      'network 10.9.0.0, 255.255.255.0: gateway',
    );
    expect(line(row('passwd', { key: 'xcat', username: 'viewer' }, { password: 'x' }, null))).toBe(
      'password xcat, viewer: removed',
    );
    expect(line(row('notification', { filename: 'a' }, null, {}))).toBe('notification a: made');
  });

  it('names nodes by themselves, and says that they were made or removed only where they were', () => {
    const made = ['n1', 'n2'].map((node) => row('nodelist', { node }, null, { groups: 'all' }));
    expect(line(...made)).toBe('n[1-2]: made');
    expect(line(row('nodelist', { node: 'n1' }, { groups: 'all' }, null))).toBe('n1: removed');
    expect(line(row('hosts', { node: 'n1' }, null, { ip: '10.9.0.1' }))).toBe('n1: ip');
    expect(line(row('hosts', { node: 'n1' }, { ip: '10.9.0.1' }, null))).toBe('n1: ip');
  });

  it('names three columns, and says that there are more', () => {
    const values = { a: '1', b: '2', c: '3' };
    expect(line(row('nodehm', { node: 'n1' }, {}, values))).toBe('n1: a, b, c');
    expect(line(row('nodehm', { node: 'n1' }, {}, { ...values, d: '4' }))).toBe('n1: a, b, c, …');
  });

  it('names rows of several tables, and how many there are beyond those that it lists', () => {
    const changes = [
      row('nodepos', { node: 'n1' }, null, { rack: 'r1' }),
      row('site', { key: 'domain' }, null, { value: 'x' }),
    ];
    expect(line(...changes)).toBe('n1, setting domain: made');
    expect(aboutOf({ changes: changes.slice(0, 1), rows: 40, tables: ['nodepos'] })).toBe('n1, …: rack (40 rows)');
  });

  it('says of tokens that they were made or ended', () => {
    expect(line(row('token', { tokenid: '********' }, null, {}))).toBe('A token was made');
    expect(line(row('token', { tokenid: '********' }, {}, null))).toBe('A token ended');
  });
});
