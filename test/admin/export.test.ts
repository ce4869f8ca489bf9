import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { exportTables } from '../../src/admin/export.ts';
import { withStore } from '../../src/admin/offline.ts';
import { lockDataDirectory } from '../../src/database/lock.ts';
import { tables } from '../../src/database/tables.ts';
import { accountHash, fill, firstStart, sentencesOf } from './cluster-data.ts';

const tokenHash = 'a'.repeat(64);

let parent: string;
let data: string;
let out: string;
beforeEach(async () => {
  parent = mkdtempSync(join(tmpdir(), 'muster-export-'));
  data = join(parent, 'data');
  out = join(parent, 'made', 'dump');
  await fill(data, {
    ...firstStart,
    nodelist: [{ node: 'n1', groups: 'all,compute', comments: 'the "first"', status: '' }, { node: 'n2' }],
    ipmi: [
      { node: 'n1', bmc: '10.0.0.1', password: 'open sesame' },
      { node: 'n2', password: '' },
    ],
    token: [{ tokenid: tokenHash, username: 'root', expire: 'never' }],
  });
});
afterEach(() => rmSync(parent, { recursive: true }));

const lines = (table: string) => readFileSync(join(out, `${table}.csv`), 'utf8').split('\n');
const mode = (path: string) => statSync(path).mode & 0o777;

it('every table has a file, also those without rows', async () => {
  const report = await exportTables(data, out);
  expect(readdirSync(out).sort()).toEqual([...tables.keys()].map((name) => `${name}.csv`).sort());
  expect(report).toEqual({ tables: tables.size, rows: 7 });
  expect(lines('rack')).toEqual(['#rackname,displayname,num,height,room,comments,disable', '']);
});

it('rows are written in the form of the reference system', async () => {
  await exportTables(data, out);
  expect(lines('nodelist').slice(1)).toEqual([
    '"n1","all,compute","",,,,,,,,,"the ""first""",',
    '"n2",,,,,,,,,,,,',
    '',
  ]);
});

it('secrets are hidden unless they are asked for', async () => {
  await exportTables(data, out);
  expect(lines('ipmi').slice(1)).toEqual(['"n1","10.0.0.1",,,,,"********",,', '"n2",,,,,,"",,', '']);
  expect(lines('passwd')[1]).toBe('"xcat","root","********",,,,');
  expect(lines('token')[1]).toBe('"********","root","never",,,,');
  for (const name of readdirSync(out)) {
    const text = readFileSync(join(out, name), 'utf8');
    for (const secret of ['open sesame', '{m1}', accountHash, tokenHash]) expect(text).not.toContain(secret);
  }
});

it('asked for, secrets are in clear text and hashes as they are', async () => {
  await exportTables(data, out, { withSecrets: true });
  expect(lines('ipmi')[1]).toBe('"n1","10.0.0.1",,,,,"open sesame",,');
  expect(lines('passwd')[1]).toBe(`"xcat","root","${accountHash}",,,,`);
  expect(lines('token')[1]).toBe(`"${tokenHash}","root","never",,,,`);
});

it('nobody else can read the files', async () => {
  const before = process.umask(0);
  try {
    await exportTables(data, out);
  } finally {
    process.umask(before);
  }
  expect(mode(out)).toBe(0o700);
  expect(new Set(readdirSync(out).map((name) => mode(join(out, name))))).toEqual(new Set([0o600]));
});

it('logs of any length are written whole and in order', async () => {
  const count = 20_000;
  await withStore(data, async ({ store, box }) => {
    const record = { user: 'root', client: 'here', command: 'lsdef', noderange: '', args: 'a "b"', status: 'ok' };
    for (let i = 1; i <= count; i++) store.auditSoon({ ...record, time: 0, request: `r${i}` });
    await exportTables({ store, box }, out);
  });
  const written = lines('auditlog');
  expect(written).toHaveLength(count + 2);
  expect(written[1]).toBe('"1","1970-01-01T00:00:00.000Z","root","here","ws","lsdef","","a ""b""","ok","r1",');
  expect(written[count]).toMatch(new RegExp(`^"${count}",.*"r${count}",$`));
});

it('a directory that is not empty is refused and left alone', async () => {
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'nodelist.csv'), 'mine');
  expect(await sentencesOf(exportTables(data, out))).toEqual([
    `The directory ${out} is not empty; export into a new or an empty one.`,
  ]);
  expect(readdirSync(out)).toEqual(['nodelist.csv']);
  expect(lines('nodelist')).toEqual(['mine']);
});

it('a file in place of the directory is refused', async () => {
  writeFileSync(join(parent, 'made'), '');
  expect((await sentencesOf(exportTables(data, out)))[0]).toMatch(/^The directory .*dump cannot be written: /);
});

it('a secret that cannot be opened stops the export and leaves nothing behind', async () => {
  writeFileSync(join(data, 'secret.key'), Buffer.alloc(32, 7));
  expect((await sentencesOf(exportTables(data, out, { withSecrets: true })))[0]).toContain('ipmi.password');
  expect(existsSync(out)).toBe(false);
});

it('a running server is not disturbed', async () => {
  const lock = lockDataDirectory(data);
  try {
    expect((await sentencesOf(exportTables(data, out)))[0]).toMatch(/is in use by process/);
  } finally {
    lock.release();
  }
  expect(existsSync(out)).toBe(false);
});

it('a directory without data is refused and stays as it is', async () => {
  const empty = join(parent, 'empty');
  expect((await sentencesOf(exportTables(empty, out)))[0]).toContain('the directory does not exist');
  expect(existsSync(empty)).toBe(false);
  mkdirSync(empty);
  expect((await sentencesOf(exportTables(empty, out)))[0]).toContain('muster.sqlite is missing');
  expect(existsSync(join(empty, 'muster.sqlite'))).toBe(false);
});
