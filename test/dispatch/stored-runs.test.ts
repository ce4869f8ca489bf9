import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { RunFilter } from '../../src/commands/command.ts';
import { Fault } from '../../src/core/errors.ts';
import { Draft } from '../../src/database/draft.ts';
import { Servers } from '../../src/database/servers.ts';
import type { Row } from '../../src/database/tables.ts';
import { watchInterruptedUpdates } from '../../src/dispatch/interrupted-updates.ts';
import { NodeStatus } from '../../src/nodes/node-status.ts';
import type { SharedRecords } from '../../src/database/shared-records.ts';
import { RunWriter } from '../../src/dispatch/run-writer.ts';
import { openRuns, type OpenedRuns } from '../../src/dispatch/open-runs.ts';
import type { Run } from '../../src/dispatch/run.ts';
import { Runs } from '../../src/dispatch/runs.ts';
import { accountRowKey } from '../../src/objects/accounts.ts';
import { governors, memoryStore, silent, testOrigin, type TestStore } from '../harness/store.ts';

const log = pino({ level: 'silent' });
const audience = { isHeard: false, run: () => undefined, progress: () => undefined };

interface Server extends OpenedRuns {
  readonly servers: Servers;
}

let isAway: boolean;
/** What happens while records are on their way. */
let meanwhile: (() => void) | undefined;
/** How many records each list had, how many are asked for at the moment, and how many were at once. */
let listed: number[];
let asking: number;
let mostAsking: number;
const there = <T>(answer: () => Promise<T>): Promise<T> =>
  isAway ? Promise.reject(new Fault('unavailable', 'The database cannot be used.')) : answer();

/** Shared records of a database that others use too, and that may be away, also where it is SQLite. */
const atOthers = (real: SharedRecords): SharedRecords => ({
  isAlone: false,
  claim: (...given) => there(() => real.claim(...given)),
  claimAll: (...given) => there(() => real.claimAll(...given)),
  releaseAll: (...given) => there(() => real.releaseAll(...given)),
  shorten: (...given) => there(() => real.shorten(...given)),
  release: (...given) => there(() => real.release(...given)),
  put: (...given) => {
    const happens = meanwhile;
    meanwhile = undefined;
    happens?.();
    return there(() => real.put(...given));
  },
  get: (...given) => there(() => real.get(...given)),
  list: async (...given) => {
    mostAsking = Math.max(mostAsking, ++asking);
    await new Promise(setImmediate);
    const found = await there(() => real.list(...given)).finally(() => asking--);
    listed.push(found.length);
    return found;
  },
  remove: (...given) => there(() => real.remove(...given)),
  announce: (...given) => there(() => real.announce(...given)),
  hear: (heard) => real.hear(heard),
  clock: () => there(() => real.clock()),
});

let cluster: TestStore;
let first: Server;
let second: Server;
const shared = () => cluster.store.database.shared;

async function open(): Promise<Server> {
  const servers = new Servers(shared(), log);
  await servers.start({ name: servers.name, version: '1', since: '', listens: [] });
  return { ...openRuns({ store: cluster.store, servers, audience, log }), servers };
}

const stop = async ({ close, servers }: Server): Promise<void> => {
  await close();
  await servers.close();
};

beforeEach(async () => {
  isAway = false;
  meanwhile = undefined;
  [listed, asking, mostAsking] = [[], 0, 0];
  cluster = await memoryStore({
    around: (database) => ({ ...silent(database), shared: atOthers(database.shared) }),
  });
  first = await open();
  second = await open();
});
afterEach(async () => {
  for (const server of [first, second]) await stop(server);
  await cluster.close();
});

const results = (run: Run, count: number, length: number): void => {
  for (let i = 0; i < count; i++) first.runs.add(run, { node: `n${i}`, value: [`${i} ${'x'.repeat(length)}`] });
};
const list = async ({ runBoard }: Server, filter: Partial<RunFilter> = {}, user = 'root', seesAll = true) =>
  (await runBoard.list({ limit: 100, ...filter }, user, seesAll)).runs.map(({ id }) => id);
const shownAt = ({ runBoard }: Server, { id }: Run, user = 'root', seesAll = true): Promise<unknown> =>
  Promise.resolve(runBoard.show(id, user, seesAll));
const stored = async (kind: string): Promise<number> => (await shared().list({ kind, limit: 1_000 })).length;

describe('a run', () => {
  test('is shown by another server as by its own, while it goes on and afterwards', async () => {
    const { runs } = first;
    const run = runs.begin('rpower', 'anna', 'per-node');
    runs.start(run, ['n1', 'n2']);
    runs.add(run, { node: 'n1', value: ['on'] });
    runs.note(run, 'n2', 'copied 5 of 9 MB');
    await runs.kept(run);
    const shown = await shownAt(second, run);
    expect(shown).toMatchObject({
      state: 'running',
      ok: 1,
      results: [{ node: 'n1' }],
      underWay: { n2: 'copied 5 of 9 MB' },
    });
    expect(JSON.stringify(shown)).toBe(JSON.stringify(await shownAt(first, run)));
    runs.add(run, { node: 'n2', error: 'no answer' });
    runs.finish(run, 3);
    await runs.kept(run);
    expect(await shownAt(second, run)).toMatchObject({
      state: 'finished',
      errorcode: 3,
      failed: 1,
      results: { length: 2 },
    });
    expect(JSON.stringify(await shownAt(second, run))).toBe(JSON.stringify(await shownAt(first, run)));
  });

  test('that starts while it is written is known with its nodes', async () => {
    const { runs } = first;
    const run = runs.begin('rpower', 'anna', 'per-node');
    meanwhile = () => runs.start(run, ['n1', 'n2']);
    await runs.kept(run);
    await runs.kept(run);
    expect((await shared().get('run-targets', run.id))?.body).toBe('["n1","n2"]');
  });

  test('that goes on for a day keeps its nodes on record', async () => {
    const { runs } = first;
    const run = runs.begin('updatenode', 'anna', 'per-node');
    runs.start(run, ['n1', 'n2']);
    await runs.kept(run);
    // As when their time is over.
    await shared().remove('run-targets', [run.id]);
    runs.expire();
    await runs.kept(run);
    expect(await second.nodesUnder('updatenode')).toEqual(new Map([[first.servers.id, new Set(['n1', 'n2'])]]));
  });

  test('of long work is shown with its lines and why it failed', async () => {
    const { runs } = first;
    const run = runs.begin('genimage', 'anna', 'long');
    runs.report(run, { lines: ['one', 'two'], done: 1, of: 4 });
    runs.finish(run, 5, { state: 'finished', error: ['The disk is full.'] });
    await runs.kept(run);
    expect(await shownAt(second, run)).toMatchObject({
      progress: { done: 1, of: 4, line: 'two' },
      lines: ['one', 'two'],
      error: ['The disk is full.'],
    });
  });

  test('with large results has them in pieces, and what is written is not written again', async () => {
    const { runs } = first;
    const run = runs.begin('rvitals', 'anna', 'per-node');
    results(run, 100, 2_000);
    await runs.kept(run);
    const before = await shared().list({ kind: 'run-results', limit: 100 });
    expect(before.length).toBeGreaterThan(2);
    results(run, 100, 2_000);
    await shared().remove('run-results', [`${run.id}/0`]);
    await runs.kept(run);
    expect(await shared().get('run-results', `${run.id}/0`)).toBeUndefined();
    const shown = (await shownAt(second, run)) as { results: { node: string }[] };
    expect(shown.results.at(-1)).toMatchObject({ node: 'n99' });
  });

  test('is seen elsewhere by its user and by who sees all, and not by a later account of that name', async () => {
    const account = { key: 'xcat', username: 'anna', password: governors[1]![1]['password']! };
    await cluster.put(['passwd', account]);
    const run = first.runs.begin('chdef', 'anna', 'change');
    first.runs.finish(run, 0);
    await first.runs.kept(run);
    expect(await shownAt(second, run, 'anna', false)).toMatchObject({ user: 'anna' });
    await expect(shownAt(second, run, 'bert', false)).rejects.toThrow('There is no run');
    // Its server is gone by then, and cannot note it.
    await stop(first);
    await cluster.store.change(testOrigin, (head) => {
      const draft = new Draft(head);
      draft.remove('passwd', accountRowKey('anna'));
      return draft.changes();
    });
    await cluster.put(['passwd', account]);
    await expect(shownAt(second, run, 'anna', false)).rejects.toThrow('There is no run');
    expect(await list(second, {}, 'anna', false)).toEqual([]);
    const third = await open();
    await expect(shownAt(third, run, 'anna', false)).rejects.toThrow('There is no run');
    expect(await shownAt(third, run)).toMatchObject({ user: 'anna' });
    await stop(third);
  });

  test('whose server has stopped is interrupted', async () => {
    const { runs } = first;
    const run = runs.begin('xdsh', 'anna', 'per-node');
    runs.add(run, { node: 'n1', value: ['done'] });
    await runs.kept(run);
    expect(await list(second, { state: 'running' })).toEqual([run.id]);
    await first.servers.close();
    await expect
      .poll(() => shownAt(second, run))
      .toMatchObject({
        state: 'interrupted',
        errorcode: 5,
        error: [expect.stringContaining(`The server ${hostname()} that did this run was stopped or killed`)],
        results: [{ node: 'n1' }],
      });
    expect(await list(second, { state: 'running' })).toEqual([]);
    expect(await list(second, { state: 'interrupted' })).toEqual([run.id]);
    await expect(second.runBoard.cancel(run.id, 'root', true)).rejects.toThrow(/has ended.*was stopped or killed/s);
  });
});

test('nodes whose results were dropped for memory are not taken for unknown when the server has stopped', async () => {
  const { servers } = first;
  const keeper = new RunWriter({ shared: shared(), servers, revision: () => 0, log });
  const runs = new Runs({ limits: { age: 1_000, count: 10, memory: 1_000 }, keeper });
  const run = runs.begin('xdsh', 'anna', 'per-node');
  runs.start(run, ['n1', 'n2']);
  runs.add(run, { node: 'n1', value: ['x'.repeat(2_000)] });
  await keeper.close();
  await servers.close();
  const shown = await shownAt(second, run);
  expect(shown).toMatchObject({ state: 'interrupted', ok: 1, note: expect.stringContaining('no longer kept') });
  expect(shown).not.toHaveProperty('results');
});

test('runs of all servers are listed, the newest first, as many as are wanted', async () => {
  const begin = async (server: Server, command: string, user: string): Promise<string> => {
    const run = server.runs.begin(command, user, 'change');
    server.runs.finish(run, 0);
    await server.runs.kept(run);
    await new Promise((resolve) => setTimeout(resolve, 2));
    return run.id;
  };
  const ids: string[] = [];
  for (const [command, user] of [
    ['chdef', 'anna'],
    ['mkdef', 'bert'],
    ['chdef', 'bert'],
    ['rmdef', 'anna'],
  ] as const)
    ids.unshift(await begin(ids.length % 2 === 0 ? first : second, command, user));
  for (const server of [first, second]) {
    expect(await list(server)).toEqual(ids);
    expect(await list(server, { limit: 3 })).toEqual(ids.slice(0, 3));
    expect(await list(server, { command: 'chdef' })).toEqual([ids[1], ids[3]]);
    expect(await list(server, { user: 'anna' })).toEqual([ids[0], ids[3]]);
    expect(await list(server, {}, 'bert', false)).toEqual([ids[1], ids[2]]);
  }
});

test('what is no longer kept here is not kept in the database either', async () => {
  const keeper = new RunWriter({ shared: shared(), servers: first.servers, revision: () => 0, log });
  const runs = new Runs({ limits: { age: 1_000, count: 10, memory: 100_000 }, keeper });
  const large = runs.begin('rvitals', 'anna', 'per-node');
  for (let i = 0; i < 80; i++) runs.add(large, { node: `n${i}`, value: ['x'.repeat(1_000)] });
  runs.finish(large, 0);
  await runs.kept(large);
  expect(await stored('run-results')).toBe(2);
  const next = runs.begin('rvitals', 'anna', 'per-node');
  for (let i = 0; i < 40; i++) runs.add(next, { node: `n${i}`, value: ['x'.repeat(1_000)] });
  runs.finish(next, 0);
  await runs.kept(next);
  expect(await stored('run-results')).toBe(1);
  expect(await shownAt(second, large)).toMatchObject({ note: expect.stringContaining('no longer kept') });
  for (let i = 0; i < 12; i++) runs.finish(runs.begin('chdef', 'anna', 'change'), 0);
  await keeper.flush();
  expect([await stored('run'), await stored('run-results')]).toEqual([10, 0]);
  await keeper.close();
});

/** Heads of runs that another server has done, the newest last. */
async function putHeads(count: number, user: string, command = 'gettoken'): Promise<string[]> {
  const run = first.runs.begin(command, user, 'change');
  first.runs.finish(run, 0);
  await first.runs.kept(run);
  const like = (await shared().get('run', run.id))!;
  const ids = Array.from({ length: count }, (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`);
  const records = ids.map((id) => ({ ...like, name: id, body: like.body.replaceAll(run.id, id), about: user }));
  await shared().put(records, 60_000);
  await shared().remove('run', [run.id]);
  return ids.reverse();
}

test('a list reads from the database what it shows, in portions, and one after the other for each user', async () => {
  const ids = await putHeads(1_200, 'anna');
  expect(await list(second, {}, 'bert', false)).toEqual([]);
  expect(await list(second, { command: 'rpower' })).toEqual([]);
  expect(await list(second, { user: 'anna' }, 'bert', false)).toEqual([]);
  expect(listed).toEqual([0, 0]);
  expect(await list(second, { limit: 3 }, 'anna', false)).toEqual(ids.slice(0, 3));
  listed = [];
  expect(await list(second, { limit: 700 }, 'anna', false)).toEqual(ids.slice(0, 700));
  expect(listed).toEqual([500, 500]);
  mostAsking = 0;
  await Promise.all(Array.from({ length: 20 }, () => list(second, {}, 'anna', false)));
  expect(mostAsking).toBe(1);
});

test('what a server of another version writes is left out', async () => {
  const { runs } = first;
  const run = runs.begin('rpower', 'anna', 'per-node');
  runs.add(run, { node: 'n1', value: ['on'] });
  await runs.kept(run);
  const strange = ['{}', 'no JSON', '{"head":{"user":"anna","state":"later"}}'];
  const records = strange.map((body, i) => ({ kind: 'run', name: `${run.id.slice(1)}${i}`, holder: 'z', body }));
  const details = { kind: 'run-details', name: run.id, holder: 'z', body: '[' };
  await shared().put([...records, details], 60_000);
  expect(await list(second)).toEqual([run.id]);
  expect(await shownAt(second, run)).toMatchObject({ results: [{ node: 'n1' }] });
  for (const { name } of records)
    await expect(second.runBoard.show(name, 'root', true)).rejects.toThrow('There is no run');
  await shared().put([{ kind: 'run-targets', name: run.id, holder: 'z', body: '["n1",2]' }], 60_000);
  await expect(second.nodesUnder('rpower')).rejects.toThrow(`The nodes of run ${run.id} are not on record yet`);
});

test('while the database is away, runs go on, lists say what is missing, and all is written afterwards', async () => {
  isAway = true;
  const { runs, runBoard } = first;
  const run = runs.begin('chdef', 'anna', 'change');
  runs.finish(run, 0);
  await runs.kept(run);
  expect(await runBoard.list({ limit: 10 }, 'root', true)).toMatchObject({
    runs: [{ id: run.id }],
    note: 'Runs of other servers are missing. The database cannot be used.',
  });
  isAway = false;
  await expect.poll(() => list(second), { timeout: 10_000 }).toEqual([run.id]);
});

describe('nodes that a server was updating when it was killed', () => {
  const fail = (error: unknown): never => {
    throw error;
  };

  test('have failed, but for those that another run works on', async () => {
    const status = new NodeStatus(cluster.store, fail);
    const nodes = ['n1', 'n2', 'n3', 'n4'];
    await cluster.put(...nodes.map((node): [string, Row] => ['nodelist', { node, groups: 'all' }]));
    for (const [server, targets] of [[first, ['n1', 'n2', 'n3']] as const, [second, ['n3']] as const]) {
      const run = server.runs.begin('updatenode', 'root', 'per-node');
      server.runs.start(run, targets);
      await server.runs.kept(run);
    }
    for (const node of ['n1', 'n2', 'n3']) status.noteUpdate(node, 'syncing');
    status.noteUpdate('n2', 'synced');
    await status.flush();
    const shown = () => nodes.map((node) => cluster.current.get('nodelist', node)?.['updatestatus']);
    const services = { servers: second.servers, openedRuns: second, status, log };
    const end = watchInterruptedUpdates(services, { look: 20, record: 50 });
    // Both servers are there, and their runs go on.
    await pause(300);
    expect(shown()).toEqual(['syncing', 'synced', 'syncing', undefined]);
    await shared().remove('server', [first.servers.id]);
    await expect.poll(shown).toEqual(['failed', 'synced', 'syncing', undefined]);
    end();
  });

  test('have failed once it is sure that the server does not come back to a database that was away', async () => {
    const status = new NodeStatus(cluster.store, fail);
    await cluster.put(['nodelist', { node: 'n1', groups: 'all' }]);
    const run = first.runs.begin('updatenode', 'root', 'per-node');
    first.runs.start(run, ['n1']);
    await first.runs.kept(run);
    status.noteUpdate('n1', 'syncing');
    await status.flush();
    await shared().remove('server', [first.servers.id]);
    const { id, name } = second.servers;
    let isUnsure = true;
    let looks = 0;
    const isAlive = async (other: string) => {
      looks++;
      return isUnsure || (await second.servers.isAlive(other));
    };
    const openedRuns = openRuns({ store: cluster.store, servers: { id, name, isAlive }, audience, log });
    const end = watchInterruptedUpdates({ servers: second.servers, openedRuns, status, log }, { look: 20, record: 50 });
    await expect.poll(() => looks).toBeGreaterThan(1);
    const shown = () => cluster.current.get('nodelist', 'n1')?.['updatestatus'];
    expect(shown()).toBe('syncing');
    isUnsure = false;
    await expect.poll(shown).toBe('failed');
    end();
    await openedRuns.close();
  });
});
