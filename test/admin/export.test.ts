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
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { SecretBox } from '../../src/access/secrets.ts';
import { exportTables } from '../../src/admin/export.ts';
import { tables } from '../../src/database/tables.ts';
import { accountHash, fill, firstStart, openData, sentencesOf } from './cluster-data.ts';

const tokenHash = 'a'.repeat(64);

let parent: string;
let dataDir: string;
let data: Awaited<ReturnType<typeof openData>>;
let out: string;
beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'muster-export-'));
  dataDir = join(parent, 'data');
  data = await openData(dataDir);
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
beforeEach(() => {
  rmSync(join(parent, 'made'), { recursive: true, force: true });
  out = join(parent, 'made', 'dump');
});
afterAll(async () => {
  await data.close();
  rmSync(parent, { recursive: true });
});

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
  expect(lines('token')[1]).toBe('"********","root","never",,,,,,');
  for (const name of readdirSync(out)) {
    const text = readFileSync(join(out, name), 'utf8');
    for (const secret of ['open sesame', '{m1}', accountHash, tokenHash]) expect(text).not.toContain(secret);
  }
});

it('asked for, secrets are in clear text and hashes as they are', async () => {
  await exportTables(data, out, { withSecrets: true });
  expect(lines('ipmi')[1]).toBe('"n1","10.0.0.1",,,,,"open sesame",,');
  expect(lines('passwd')[1]).toBe(`"xcat","root","${accountHash}",,,,`);
  expect(lines('token')[1]).toBe(`"${tokenHash}","root","never",,,,,,`);
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
  const record = { user: 'root', client: 'here', command: 'lsdef', noderange: '', args: 'a "b"', status: 'ok' };
  for (let i = 1; i <= count; i++) data.store.auditSoon({ ...record, time: 0, request: `r${i}` });
  await exportTables(data, out);
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
  const box = SecretBox.open(join(parent, 'other.key'));
  const sentences = await sentencesOf(exportTables({ store: data.store, box }, out, { withSecrets: true }));
  expect(sentences[0]).toContain('ipmi.password');
  expect(existsSync(out)).toBe(false);
});

it('the data directory of a running server is left alone', async () => {
  expect((await sentencesOf(exportTables(dataDir, out)))[0]).toMatch(/is in use by process/);
  expect(existsSync(out)).toBe(false);
});

it('the data directory of a stopped server is exported', async () => {
  const stopped = join(parent, 'stopped');
  const other = await openData(stopped);
  await fill(other, { nodelist: [{ node: 'n7' }] });
  await other.close();
  expect(await exportTables(stopped, out)).toEqual({ tables: tables.size, rows: 1 });
  expect(lines('nodelist')[1]).toBe('"n7",,,,,,,,,,,,');
});

it('a directory without data is refused and stays as it is', async () => {
  const empty = join(parent, 'empty');
  expect((await sentencesOf(exportTables(empty, out)))[0]).toContain('the directory does not exist');
  expect(existsSync(empty)).toBe(false);
  mkdirSync(empty);
  expect((await sentencesOf(exportTables(empty, out)))[0]).toContain('muster.sqlite is missing');
  expect(existsSync(join(empty, 'muster.sqlite'))).toBe(false);
});
