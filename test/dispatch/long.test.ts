import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { tableNamed } from '../../src/database/tables.ts';
import { WorkClaims } from '../../src/dispatch/work-claims.ts';
import type { Outcome, Request } from '../../src/dispatch/request.ts';
import { logRows } from '../../src/objects/table-access.ts';
import { LongWork } from '../../src/work/long-work.ts';
import { queryOutside } from '../harness/raw-sqlite.ts';
import { memoryStore, scratchDirectory, type TestStore } from '../harness/store.ts';
import { toil } from '../lab/toil/command.ts';
import type { Step } from '../lab/toil/work.ts';

let cluster: TestStore;
let data: string;
beforeEach(async () => {
  data = scratchDirectory();
  cluster = await memoryStore({ audit: true });
  const log = pino({ level: 'silent' });
  const { shared } = cluster.store.database;
  const claims = new WorkClaims({ shared, servers: { id: 'a', name: 'mn', machine: undefined }, data, log });
  const longWork = new LongWork({ seconds: 600, atOnce: 1, reserve: 1 }, { data, log, claims });
  Object.assign(cluster.services, { longWork });
});
afterEach(async () => {
  await cluster.services.longWork.close();
  await cluster.close();
  rmSync(data, { recursive: true });
});

const run = (name: string, steps: readonly Step[], request: Partial<Request> = {}): Promise<Outcome> =>
  cluster.run(toil, { name, steps }, { words: [name], ...request });
const workOf = ({ answer }: Outcome) => {
  if (answer.shape !== 'work') throw new Error(answer.shape);
  return answer;
};
const statuses = async (): Promise<string[]> =>
  (await logRows(cluster.store, tableNamed('auditlog'), { command: 'toil' }, ['status'])).map((row) => row['status']!);

describe('long work', () => {
  test('is in the audit log and recorded before it begins, and its change in the journal has its run', async () => {
    const flag = join(data, 'flag');
    const outcome = await run('one', [{ wait: flag }, { profile: 'compute' }]);
    expect(await statuses()).toEqual(['Allowed']);
    expect(readdirSync(join(data, 'long-work'))).toEqual([`${outcome.run.id}.json`]);
    writeFileSync(flag, '');
    const { revision, snapshot } = await workOf(outcome).ended;
    expect(snapshot.get('osimage', 'one')).toMatchObject({ profile: 'compute' });
    expect(revision).toBe(cluster.current.revision);
    const journal = queryOutside(cluster.file, 'select * from muster_journal order by revision');
    expect(journal.at(-1)).toMatchObject({ user: 'root', command: 'toil', run: outcome.run.id });
    expect(await statuses()).toEqual(['Allowed']);
  });

  test('that the policy does not allow touches nothing', async () => {
    await cluster.put(['passwd', { key: 'xcat', username: 'anna' }]);
    await cluster.put(['policy', { priority: '5', name: 'anna', commands: 'toil', parameters: 'hers', rule: 'allow' }]);
    await expect(run('one', [], { user: 'anna', login: undefined })).rejects.toThrow('User "anna" may not run toil');
    expect(await statuses()).toEqual(['Denied']);
    expect(existsSync(join(data, 'long-work'))).toBe(false);
    await workOf(await run('hers', [], { user: 'anna', login: undefined })).ended;
  });

  test('that had to wait is judged again when its turn comes', async () => {
    await cluster.put(['passwd', { key: 'xcat', username: 'anna' }]);
    await cluster.put(['policy', { priority: '5', name: 'anna', commands: 'toil', rule: 'allow' }]);
    const flag = join(data, 'flag');
    const first = await run('first', [{ wait: flag }]);
    const second = await run('second', [{ profile: 'never' }], { user: 'anna', login: undefined });
    const { runs } = cluster.services;
    expect(runs.show(second.run.id, 'anna', false)).toMatchObject({
      state: 'running',
      lines: ['Other long work is under way; this begins when its turn comes.'],
    });
    await cluster.put(['policy', { priority: '5', rule: 'deny' }]);
    writeFileSync(flag, '');
    await workOf(first).ended;
    await expect(workOf(second).ended).rejects.toThrow('User "anna" may not run toil');
    expect(cluster.current.get('osimage', 'second')).toBeUndefined();
    expect(runs.show(second.run.id, 'anna', false)).toMatchObject({ state: 'finished', errorcode: 2 });
  });

  test('whose result cannot be kept fails with what was wrong', async () => {
    const outcome = await run('bad', [{ profile: 'a\u{0}b' }]);
    await expect(workOf(outcome).ended).rejects.toMatchObject({ kind: 'invalid' });
    expect(await statuses()).toEqual(['Allowed', 'Failed']);
  });

  test('that is cancelled is noted as such', async () => {
    const outcome = await run('one', [{ program: ['sleep', '3600'] }]);
    cluster.services.runs.cancel(outcome.run.id, 'root', true);
    await expect(workOf(outcome).ended).rejects.toThrow('The run was cancelled.');
    expect(await statuses()).toEqual(['Allowed', 'Cancelled']);
    expect(() => cluster.services.runs.cancel(outcome.run.id, 'root', true)).toThrow('has ended');
  });

  test('is watched by several, who each get all of it, and by nobody who has left', async () => {
    const flag = join(data, 'flag');
    const { progress, ended } = workOf(await run('seen', [{ wait: flag }, { tell: 'a\nb' }, { progress: [2, 2] }]));
    const left = new AbortController();
    const watched = [never, never, left.signal].map((signal) => Array.fromAsync(progress.watch(signal)));
    await pause(10);
    left.abort();
    writeFileSync(flag, '');
    await ended;
    const all = [
      { done: 2, of: 2, line: 'a' },
      { done: 2, of: 2, line: 'b' },
    ];
    expect(await Promise.all(watched)).toEqual([all, all, []]);
  });
});

const never = new AbortController().signal;
