import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { backup } from '../../src/admin/backup.ts';
import { restore } from '../../src/admin/restore.ts';
import { lockDataDirectory } from '../../src/database/lock.ts';

let parent: string;
let data: string;
let file: string;
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'muster-backup-'));
  data = join(parent, 'data');
  file = join(parent, 'cluster.backup');
  makeData('first');
});
afterEach(() => rmSync(parent, { recursive: true }));

function makeData(mark: string): void {
  mkdirSync(join(data, 'tls'), { recursive: true });
  mkdirSync(join(data, 'ssh'), { recursive: true });
  const connection = openDatabase();
  connection.pragma('journal_mode = WAL');
  connection.exec('CREATE TABLE IF NOT EXISTS muster_meta (name TEXT, value TEXT)');
  connection.exec('CREATE TABLE IF NOT EXISTS marks (mark TEXT)');
  connection.exec('DELETE FROM marks');
  connection.prepare('INSERT INTO marks VALUES (?)').run(mark);
  connection.close();
  writeFileSync(join(data, 'secret.key'), keyOf(mark), { mode: 0o600 });
  writeFileSync(join(data, 'tls/ca.pem'), `ca ${mark}`);
  writeFileSync(join(data, 'ssh/id_ed25519'), `ssh key ${mark}`, { mode: 0o600 });
  writeFileSync(join(data, 'tls/ca.key'), `ca key ${mark}`, { mode: 0o600 });
}

const keyOf = (mark: string) => `key ${mark}`.padEnd(32);

const openDatabase = (dir = data) => new Sqlite(join(dir, 'muster.sqlite'));

function marks(dir = data): unknown {
  const connection = openDatabase(dir);
  try {
    return connection.prepare('SELECT mark FROM marks').pluck().all();
  } finally {
    connection.close();
  }
}

/** What a server would find: the same mark everywhere, or a mixture of two states. */
const state = (dir = data) => [
  marks(dir),
  readFileSync(join(dir, 'secret.key'), 'utf8'),
  readFileSync(join(dir, 'tls/ca.pem'), 'utf8'),
];
const stateOf = (mark: string) => [[mark], keyOf(mark), `ca ${mark}`];

/** As SQLite leaves it when it copies an empty file. */
function emptyDatabase(dir: string): void {
  rmSync(join(dir, 'muster.sqlite'), { force: true });
  const connection = openDatabase(dir);
  connection.exec('VACUUM');
  connection.close();
}

function pack(names: string[], from: string, ...flags: string[]): void {
  execFileSync('tar', [...flags, '-C', from, '-cf', file, ...names], { stdio: 'pipe' });
}

describe('backup', () => {
  it('writes one file for its owner only, with database and keys, and leaves nothing else', async () => {
    await backup(data, file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(parent).sort()).toEqual(['cluster.backup', 'data']);
    const names = execFileSync('tar', ['-tf', file], { encoding: 'utf8' }).trim().split('\n').sort();
    expect(names).toEqual([
      'muster.sqlite',
      'secret.key',
      'ssh/',
      'ssh/id_ed25519',
      'tls/',
      'tls/ca.key',
      'tls/ca.pem',
    ]);
  });

  it('copies a running server: what is committed in the write-ahead log, and nothing of an open transaction', async () => {
    const server = openDatabase();
    server.pragma('wal_autocheckpoint = 0');
    server.exec("INSERT INTO marks VALUES ('committed')");
    server.exec("BEGIN IMMEDIATE; INSERT INTO marks VALUES ('open')");
    await backup(data, file);
    server.exec('ROLLBACK');
    server.close();
    await restore(join(parent, 'other'), file, { replace: false });
    expect(marks(join(parent, 'other'))).toEqual(['first', 'committed']);
  });

  it('replaces an older backup as a whole', async () => {
    writeFileSync(file, 'older', { mode: 0o644 });
    await backup(data, file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await restore(join(parent, 'other'), file, { replace: false });
    expect(state(join(parent, 'other'))).toEqual(stateOf('first'));
  });

  it('says so when there is nothing to copy or no place to write', async () => {
    await expect(backup(join(parent, 'none'), file)).rejects.toThrow(/nothing to back up in .*none: muster\.sqlite is/);
    await expect(backup(data, join(parent, 'no/where'))).rejects.toThrow(/where cannot be written: ENOENT/);
    expect(existsSync(file)).toBe(false);
  });

  it.each([
    ['a database without content', () => truncateSync(join(data, 'muster.sqlite')), /muster\.sqlite is empty, but/],
    ['a database without tables', () => emptyDatabase(data), /muster\.sqlite is empty, but secret\.key/],
    ['a lost database', () => rmSync(join(data, 'muster.sqlite')), /muster\.sqlite is missing, but secret\.key/],
    [
      'a key that was cut off',
      () => truncateSync(join(data, 'secret.key'), 9),
      /secret\.key has 9 bytes instead of 32/,
    ],
  ])('of %s is refused, and the older backup stays', async (_what, harm, message) => {
    await backup(data, file);
    const older = readFileSync(file);
    harm();
    await expect(backup(data, file)).rejects.toThrow(message);
    expect(readFileSync(file).equals(older)).toBe(true);
    expect(readdirSync(parent).sort()).toEqual(['cluster.backup', 'data']);
  });
});

describe('restore', () => {
  it('fills an empty data directory, keys for their owner only', async () => {
    await backup(data, file);
    const other = join(parent, 'other');
    await restore(other, file, { replace: false });
    expect(state(other)).toEqual(stateOf('first'));
    expect(statSync(join(other, 'secret.key')).mode & 0o777).toBe(0o600);
    expect(statSync(join(other, 'tls/ca.key')).mode & 0o777).toBe(0o600);
    expect(readdirSync(other).sort()).toEqual(['lock.sqlite', 'muster.sqlite', 'secret.key', 'ssh', 'tls']);
  });

  it('replaces data only when told to, with everything that belonged to them', async () => {
    await backup(data, file);
    makeData('second');
    writeFileSync(join(data, 'muster.sqlite-wal'), 'old log');
    writeFileSync(join(data, 'initial-password'), 'old');
    writeFileSync(join(data, 'note'), 'not ours');
    await expect(restore(data, file, { replace: false })).rejects.toThrow(/is not empty\. Use --replace/);
    await restore(data, file, { replace: true });
    expect(readdirSync(data).sort()).toEqual(['lock.sqlite', 'muster.sqlite', 'note', 'secret.key', 'ssh', 'tls']);
    expect(state()).toEqual(stateOf('first'));
  });

  it('refuses while a server runs', async () => {
    await backup(data, file);
    const lock = lockDataDirectory(data);
    await expect(restore(data, file, { replace: true })).rejects.toThrow(`in use by process ${process.pid}`);
    lock.release();
  });

  it('is finished at the next start when it was killed after the point of no return', async () => {
    await backup(data, file);
    const other = join(parent, 'other');
    await restore(other, file, { replace: false });
    makeData('second');
    // As left behind by a kill between two renames: the database is new, the rest still waits.
    mkdirSync(join(data, 'restore.ready/new'), { recursive: true });
    mkdirSync(join(data, 'restore.ready/old'));
    renameSync(join(data, 'muster.sqlite'), join(data, 'restore.ready/old/muster.sqlite'));
    renameSync(join(other, 'muster.sqlite'), join(data, 'muster.sqlite'));
    for (const name of ['secret.key', 'ssh', 'tls'])
      renameSync(join(other, name), join(data, 'restore.ready/new', name));
    lockDataDirectory(data).release();
    expect(state()).toEqual(stateOf('first'));
    expect(existsSync(join(data, 'restore.ready'))).toBe(false);
  });

  describe('of a file that is no backup changes nothing', () => {
    const evil: [string, () => void, RegExp][] = [
      ['absent', () => {}, /cannot be read: ENOENT/],
      ['no tar file', () => writeFileSync(file, 'x'.repeat(2000)), /not a whole backup/],
      ['empty', () => writeFileSync(file, ''), /not a whole backup/],
      ['cut off', () => writeFileSync(file, readFileSync(file).subarray(0, 3000)), /not a whole backup/],
      ['without key', () => pack(['muster.sqlite'], data), /secret\.key is missing/],
      ['with a foreign file', () => pack(['muster.sqlite', 'secret.key', 'extra'], data), /contains "extra"/],
      ['with an absolute name', () => pack(['/etc/hostname'], data, '-P'), /contains "\/etc\/hostname"/],
      ['with a climbing name', () => pack(['../data/secret.key'], data, '-P'), /contains "\.\.\/data\/secret\.key"/],
      ['with a climbing name below tls', () => pack(['tls/../secret.key'], data, '-P'), /contains "tls\/\.\.\/secret/],
      ['with a link', () => pack(['muster.sqlite', 'secret.key', 'tls'], join(parent, 'linked')), /links or devices/],
      ['with a damaged database', () => pack(['muster.sqlite', 'secret.key'], join(parent, 'damaged')), /is damaged/],
      [
        'with an empty database',
        () => pack(['muster.sqlite', 'secret.key'], join(parent, 'empty')),
        /database is empty/,
      ],
      [
        'with a wrong key',
        () => pack(['muster.sqlite', 'secret.key'], join(parent, 'cut')),
        /its secret\.key has 5 bytes/,
      ],
    ];

    it.each(evil)('%s', async (name, make, message) => {
      if (name === 'cut off') await backup(data, file);
      writeFileSync(join(data, 'extra'), '');
      for (const dir of ['linked', 'damaged', 'empty', 'cut']) {
        mkdirSync(join(parent, dir, 'tls'), { recursive: true });
        writeFileSync(join(parent, dir, 'secret.key'), 'other');
        writeFileSync(join(parent, dir, 'muster.sqlite'), 'SQLite format 3\0'.padEnd(4096, 'x'));
      }
      emptyDatabase(join(parent, 'empty'));
      copyFileSync(join(data, 'muster.sqlite'), join(parent, 'cut/muster.sqlite'));
      symlinkSync('/etc/passwd', join(parent, 'linked/tls/ca.pem'));
      make();
      const before = readdirSync(data).sort();
      await expect(restore(data, file, { replace: true })).rejects.toThrow(message);
      expect(readdirSync(data).sort()).toEqual([...before, 'lock.sqlite'].sort());
      expect(state()).toEqual(stateOf('first'));
    });
  });
});
