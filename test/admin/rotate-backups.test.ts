import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { backupName, superfluous } from '../../src/admin/backup-names.ts';
import { judgeBackups, readBackupState } from '../../src/admin/backup-state.ts';
import { rotateBackups } from '../../src/admin/rotate-backups.ts';
import { runMuster, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

const at = (text: string): string => backupName(new Date(`${text}T02:15:00Z`));
/** Every night from a day on. */
const nights = (first: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => backupName(new Date(Date.parse(`${first}T02:15:00Z`) + i * 86_400_000)));

describe('which backups are kept', () => {
  const kept = (names: readonly string[], daily: number, weekly: number): string[] => {
    const gone = new Set(superfluous(names, { daily, weekly }));
    return names.filter((name) => !gone.has(name));
  };

  it('is the latest of each of the last days and weeks that have one', () => {
    // 2026-11-19 is a Thursday.
    expect(kept(nights('2026-10-01', 50), 3, 3)).toEqual([
      at('2026-11-08'),
      at('2026-11-15'),
      at('2026-11-17'),
      at('2026-11-18'),
      at('2026-11-19'),
    ]);
  });

  it('does not count days on which the machine was off', () => {
    expect(kept([at('2026-01-01'), at('2026-05-01'), at('2026-11-01')], 2, 1)).toEqual([
      at('2026-05-01'),
      at('2026-11-01'),
    ]);
  });

  it('keeps one of several of a day, the latest', () => {
    const morning = backupName(new Date('2026-11-19T08:00:00Z'));
    expect(kept([at('2026-11-19'), morning], 7, 5)).toEqual([morning]);
  });

  it('never touches files that are no backups of these', () => {
    const others = [
      'muster.tar',
      'muster-20261301T000000Z.tar',
      'muster-20260101T000000Z.tar.gz',
      'x',
      at('2026-01-01'),
    ];
    expect(superfluous([...others, ...nights('2026-11-01', 3)], { daily: 1, weekly: 1 })).toEqual([
      at('2026-11-02'),
      at('2026-11-01'),
      at('2026-01-01'),
    ]);
  });
});

describe('muster backup --rotate', { timeout: 120_000 }, () => {
  let server: TestServer;
  let parent: string;
  let away: string;
  const settings = (more: object = {}) => ({
    directory: join(parent, 'backups'),
    offSite: undefined,
    daily: 2,
    weekly: 1,
    ...more,
  });
  const rotate = (time: string, more: object = {}): Promise<string> =>
    rotateBackups(server.data, settings(more), new Date(`${time}T02:15:00Z`));
  const files = (directory = join(parent, 'backups')): string[] =>
    readdirSync(directory)
      .filter((name) => name.endsWith('.tar'))
      .toSorted();
  const verdict = (time: string) =>
    judgeBackups(settings(), readBackupState(server.data), Date.parse(`${time}T12:00:00Z`));

  beforeAll(async () => {
    parent = temporaryDirectory();
    away = join(parent, 'away');
    mkdirSync(away);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', away]);
    server = await startServer({ config: `[backup]\ndirectory = "${join(parent, 'backups')}"\n` });
    await server.ok('POST', '/nodes/n1', { groups: 'all' });
  });
  afterAll(async () => {
    execFileSync('umount', [away]);
    await server.stop();
    rmSync(parent, { recursive: true });
  });
  beforeEach(() => rmSync(join(parent, 'backups'), { recursive: true, force: true }));

  it('writes a file for its owner alone, and removes what need not be kept and what a killed one left', async () => {
    for (const time of ['2026-11-16', '2026-11-17', '2026-11-18']) await rotate(time);
    writeFileSync(join(parent, 'backups', `${at('2026-11-18')}.tmp`), 'cut off');
    expect(await rotate('2026-11-19')).toBe(join(parent, 'backups', at('2026-11-19')));
    expect(files()).toEqual([at('2026-11-18'), at('2026-11-19')]);
    expect(readdirSync(join(parent, 'backups')).filter((name) => name.includes('.tmp'))).toEqual([]);
    expect(statSync(join(parent, 'backups', at('2026-11-19'))).mode & 0o777).toBe(0o600);
    expect(statSync(join(parent, 'backups')).mode & 0o777).toBe(0o700);
    expect(verdict('2026-11-19').isWell).toBe(true);
    expect(verdict('2026-11-23')).toMatchObject({ isWell: false, sentence: expect.stringContaining('106 hours old') });
  });

  it('never removes the one that it has just made, whatever a wrong clock has left beside it', async () => {
    for (const time of ['2038-01-02', '2038-01-03']) await rotate(time);
    expect(await rotate('2026-11-19', { offSite: away })).toBe(join(parent, 'backups', at('2026-11-19')));
    expect(files()).toEqual([at('2026-11-19'), at('2038-01-02'), at('2038-01-03')]);
    rmSync(join(away, at('2026-11-19')));
  });

  it('copies each to another file system, where the same are kept', async () => {
    for (const time of ['2026-11-17', '2026-11-18', '2026-11-19']) await rotate(time, { offSite: away });
    expect(files(away)).toEqual([at('2026-11-18'), at('2026-11-19')]);
    const name = at('2026-11-19');
    expect(readFileSync(join(away, name)).equals(readFileSync(join(parent, 'backups', name)))).toBe(true);
    expect(statSync(join(away, name)).mode & 0o777).toBe(0o600);
  });

  it('keeps the backup, and says so, if the other file system is not mounted or full', async () => {
    const empty = join(parent, 'empty');
    mkdirSync(empty);
    await expect(rotate('2026-11-18', { offSite: empty })).rejects.toThrow('is on the same file system as');
    expect([files(), readdirSync(empty)]).toEqual([[at('2026-11-18')], []]);
    expect(verdict('2026-11-18')).toMatchObject({
      isWell: false,
      sentence: expect.stringContaining('Mount a directory'),
    });
    await expect(rotate('2026-11-18', { offSite: join(parent, 'none') })).rejects.toThrow('does not exist');
    writeFileSync(join(away, 'filler'), Buffer.alloc(31 << 20));
    await expect(rotate('2026-11-19', { offSite: away })).rejects.toThrow('could not be copied');
    rmSync(join(away, 'filler'));
    expect(readdirSync(away).filter((name) => name.includes('.tmp'))).toEqual([]);
    expect(files()).toEqual([at('2026-11-18'), at('2026-11-19')]);
  });

  it('refuses a directory that others can write to, and one that is not set', async () => {
    mkdirSync(join(parent, 'backups'));
    chmodSync(join(parent, 'backups'), 0o777);
    await expect(rotate('2026-11-19')).rejects.toThrow('can be written by other users');
    await expect(rotate('2026-11-19', { directory: undefined })).rejects.toThrow('backup.directory is missing');
  });

  it('tells listeners when it failed', async () => {
    writeFileSync(join(parent, 'backups'), 'no directory');
    await expect(rotate('2026-11-19')).rejects.toThrow('cannot be used');
    await expect.poll(() => server.output(), { timeout: 60_000 }).toContain('Backups of muster: the one of 2026-11-19');
    rmSync(join(parent, 'backups'));
  });

  it('is what --schedule does at once; in a checkout it shows a line for cron', async () => {
    const config = join(server.data, 'test-config.toml');
    const { code, output } = await runMuster(['--config', config, '--data', server.data, 'backup', '--schedule']);
    expect([code, output]).toEqual([
      0,
      expect.stringMatching(
        /^(\S+) has been written\.\nNothing runs it by itself yet\..*\n15 2 \* \* \* root \S+\/bin\/muster --config \S+ --data \S+ backup --rotate\n$/,
      ),
    ]);
    expect(files()).toHaveLength(1);
    const line = /root (.*)$/m.exec(output)![1]!;
    expect(execFileSync('sh', ['-c', line], { encoding: 'utf8', env: { PATH: process.env['PATH'] } })).toContain(
      'has been written.',
    );
    for (const words of [['backup'], ['backup', 'x', '--rotate'], ['backup', '--schedule', '--rotate']])
      expect(await runMuster(['--data', server.data, ...words])).toMatchObject({
        code: 1,
        output: expect.stringContaining('Name a file for the backup, or give one of --schedule and --rotate.'),
      });
  });
});
