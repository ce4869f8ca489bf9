import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SqliteDatabase } from '../../src/database/sqlite/sqlite.ts';
import { WorkClaims } from '../../src/dispatch/work-claims.ts';
import { LongWork } from '../../src/work/long-work.ts';
import { writeRecord } from '../../src/work/records.ts';
import type { LongWorkSettings, LongRun } from '../../src/work/long-run.ts';
import { until } from '../harness/processes.ts';
import { scratchDirectory } from '../harness/store.ts';
import type { Made, Step } from '../lab/toil/work.ts';

const module = join(import.meta.dirname, '../lab/toil/work.ts');
const scratch = scratchDirectory();
/** A file system that nobody else writes to. */
const memory = mkdtempSync('/dev/shm/muster-test-');
let database: SqliteDatabase;
const files = scratchDirectory();
beforeAll(async () => {
  database = await SqliteDatabase.open(join(files, 'muster.sqlite'));
});
afterAll(async () => {
  await database.close();
  for (const directory of [scratch, memory, files]) rmSync(directory, { recursive: true });
});

const defaults: LongWorkSettings = { seconds: 600, atOnce: 2, reserve: 1 };
let data: string;
let logged: string;
const log = pino({ level: 'info' }, { write: (line: string) => (logged += line) });
beforeEach(() => {
  data = scratchDirectory();
  logged = '';
  return () => rmSync(data, { recursive: true, force: true });
});

const claimsOf = (id: string): WorkClaims =>
  new WorkClaims({ shared: database.shared, servers: { id, name: `mn-${id}`, machine: 'm1' }, data: `/${id}`, log });

const open = (settings: Partial<LongWorkSettings> = {}): LongWork =>
  new LongWork({ ...defaults, ...settings }, { data, log, claims: claimsOf('a') });

let begun = 0;
interface Toil {
  readonly user?: string;
  readonly subject?: string;
  readonly signal?: AbortSignal;
}
function begin(work: LongWork, { user = 'anna', subject, signal = new AbortController().signal }: Toil = {}) {
  const run = `run-${++begun}`;
  return work.begin(
    { subject: subject ?? run, run, command: 'toil', user, started: Date.now(), seesAll: false },
    signal,
  );
}

/** Lines that were told, and what was made. */
async function doSteps(longRun: LongRun, steps: readonly Step[]) {
  const lines: string[] = [];
  let waited = false;
  let isDone = false;
  try {
    await longRun.record({ client: '127.0.0.1', range: '', line: '', request: 'q' });
    const made = await longRun.inTurn(
      () => (waited = true),
      () => longRun.do(module, { steps }, (batch) => lines.push(...batch.lines)),
    );
    isDone = true;
    return { ...(made as Made), lines, waited };
  } finally {
    await longRun.end(isDone);
  }
}
const toil = async (work: LongWork, steps: readonly Step[], how?: Toil) => doSteps(await begin(work, how), steps);

describe('long work', () => {
  test('is done in its own namespaces by a process that stands back, and leaves no record', async () => {
    const work = open();
    const { lines } = await toil(work, [
      { program: ['cat', '/proc/1/comm'] },
      { program: ['nice'] },
      { program: ['cat', '/proc/self/oom_score_adj'] },
      { program: ['mount', '-t', 'tmpfs', 'none', scratch] },
      { program: ['touch', join(scratch, 'in-its-own-mount')] },
      { program: ['ls', scratch] },
    ]);
    expect(lines).toEqual(['sh', '10', '500', 'in-its-own-mount']);
    expect(readdirSync(scratch)).toEqual([]);
    await work.close();
    expect(readdirSync(join(data, 'long-work'))).toEqual([]);
  });

  test('that is done leaves no staging, and a stop of muster waits for that', async () => {
    const work = open();
    mkdirSync(join(data, 'place'));
    await toil(work, [{ staging: join(data, 'place') }], { subject: 'image' });
    // Whatever is still to be removed, the next one need not wait for it.
    await toil(work, [{ staging: join(data, 'place') }], { subject: 'image' });
    await work.close();
    expect([readdirSync(join(data, 'place')), readdirSync(join(data, 'long-work'))]).toEqual([[], []]);
  });

  test('that has only moved things away is done when their room is there', async () => {
    const work = open();
    mkdirSync(join(data, 'place'));
    await toil(work, [{ staging: join(data, 'place'), movesOnly: true }]);
    expect([readdirSync(join(data, 'place')), readdirSync(join(data, 'long-work'))]).toEqual([[], []]);
    await work.close();
  });

  test('keeps no dead processes that programs have left', async () => {
    const file = join(scratch, 'orphan');
    const gone = 'pid=$(cat "$0"); while [ -d "/proc/$pid" ]; do sleep 0.05; done; rm "$0"; echo gone';
    const { lines } = await toil(open(), [
      { program: ['sh', '-c', '(sleep 0.1 > /dev/null 2>&1 & echo $! > "$0")', file] },
      { program: ['sh', '-c', gone, file] },
    ]);
    expect(lines).toEqual(['gone']);
  });

  test('that takes too long is ended', async () => {
    await expect(toil(open({ seconds: 1 }), [{ program: ['sleep', '3600'] }])).rejects.toMatchObject({
      kind: 'deadline',
      sentences: ['It took longer than 1 seconds (setting longWork.seconds) and was ended.'],
    });
  });

  test('that does not heed that it should end is killed', async () => {
    const controller = new AbortController();
    const longRun = await begin(open(), { signal: controller.signal });
    const steps: Step[] = [{ staging: scratch }, { spin: true }];
    const done = doSteps(longRun, steps);
    done.catch(() => undefined);
    await until(() => readdirSync(scratch).length > 0);
    controller.abort(new Error('enough'));
    await expect(done).rejects.toThrow('enough');
    expect(readdirSync(scratch)).toEqual([]);
  });

  test('ends before it fills a file system, and what it had written is gone', async () => {
    const { bavail, bsize } = statfsSync(memory);
    const free = bavail * bsize;
    const sentence =
      /^The file system of \/dev\/shm\/muster-test-\w+ has only \d+ bytes free, and long work must leave \d+ free/;
    await expect(
      toil(open({ reserve: free - (16 << 20) }), [{ staging: memory }, { fill: 2 ** 40 }]),
    ).rejects.toMatchObject({ kind: 'unavailable', sentences: [expect.stringMatching(sentence)] });
    expect(readdirSync(memory)).toEqual([]);
    const full = { reserve: free + (1 << 30) };
    await expect(toil(open(full), [{ staging: memory }])).rejects.toThrow(sentence);
    // What makes room works where there is none.
    const moving = await toil(open(full), [{ staging: memory, movesOnly: true }, { say: 'moved' }]);
    expect(moving.said).toEqual(['moved']);
  });

  test('may print without end: a bounded number of lines is told', async () => {
    const { lines } = await toil(open(), [{ program: ['sh', '-c', 'yes "$0" | head -c 50000000', 'x'.repeat(100)] }]);
    expect(lines.join('').length).toBeLessThan(10_000_000);
    expect(lines.at(-1)).toMatch(/^x+$/);
    expect(lines.some((line) => /^\(\d+ lines are left out here\)$/.test(line))).toBe(true);
  });

  test('that breaks tells the client where to look, and the log what it was', async () => {
    await expect(toil(open(), [{ error: 'a bug' }])).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('Something went wrong inside muster'),
    });
    expect(logged).toContain('a bug');
    await expect(toil(open(), [{ exit: 7 }])).rejects.toThrow(
      /The process that did the work of toil ended with code 7;/,
    );
  });

  test('waits for its turn when there is much of it, and a user leaves a slot to others', async () => {
    const work = open({ atOnce: 2 });
    const flag = join(data, 'flag');
    const first = toil(work, [{ program: ['touch', `${flag}-of-first`] }, { wait: flag }]);
    await until(() => existsSync(`${flag}-of-first`));
    const second = toil(work, [{ say: 'second' }]);
    expect(await toil(work, [{ say: 'other' }], { user: 'bert' })).toMatchObject({ said: ['other'], waited: false });
    writeFileSync(flag, '');
    expect(await first).toMatchObject({ waited: false });
    expect(await second).toMatchObject({ said: ['second'], waited: true });
  });

  test('that waits for its turn can be cancelled', async () => {
    const work = open({ atOnce: 1 });
    const flag = join(data, 'flag');
    const first = toil(work, [{ program: ['touch', `${flag}-of-first`] }, { wait: flag }]);
    await until(() => existsSync(`${flag}-of-first`));
    const controller = new AbortController();
    const second = toil(work, [], { signal: controller.signal, user: 'bert' });
    controller.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    writeFileSync(flag, '');
    await first;
  });

  test('of one user is bounded', async () => {
    const work = open();
    const longRuns = await Promise.all(Array.from({ length: 16 }, () => begin(work)));
    await expect(begin(work)).rejects.toThrow('User "anna" already runs 16 long commands');
    longRuns.push(await begin(work, { user: 'bert' }));
    await Promise.all(longRuns.map((longRun) => longRun.end(true)));
  });

  test('ends with muster, and nothing new is begun', async () => {
    const work = open();
    mkdirSync(join(data, 'place'));
    const done = toil(work, [{ staging: join(data, 'place') }, { program: ['sleep', '3600'] }]);
    done.catch(() => undefined);
    await until(() => readdirSync(join(data, 'place')).length > 0);
    await work.close();
    await expect(done).rejects.toThrow('muster was stopped before this ended');
    expect(readdirSync(join(data, 'place'))).toEqual([]);
    await expect(begin(work)).rejects.toThrow('muster was stopped before this ended');
    const found: string[] = [];
    await open().resume(async ({ run }) => void found.push(run));
    expect([found, readdirSync(join(data, 'long-work'))]).toEqual([[], []]);
  });

  test('that an earlier muster left is noted once, and its stagings are removed, but nothing else', async () => {
    const directory = join(data, 'long-work');
    const about = { command: 'toil', user: 'anna', client: '', range: '', line: '', request: '', started: 0 };
    const stagings = ['killed', 'done'].map((run) => join(data, `.muster-${run}-1`));
    for (const path of [...stagings, join(data, 'precious')]) mkdirSync(path);
    await writeRecord(directory, { ...about, run: 'killed', stagings: [stagings[0]!] });
    await writeRecord(directory, { ...about, run: 'done', done: true, stagings: [stagings[1]!] });
    await writeRecord(directory, { ...about, run: 'forged', stagings: [join(data, 'precious')] });
    const found: string[] = [];
    const note = async ({ run }: { readonly run: string }) => void found.push(run);
    const work = open();
    await work.resume(note);
    expect(found.sort()).toEqual(['forged', 'killed']);
    await until(() => readdirSync(directory).join() === 'forged.json' && logged.includes('could not be removed'));
    expect([...stagings, join(data, 'precious')].filter((path) => existsSync(path))).toEqual([join(data, 'precious')]);
    await work.close();
    await open().resume(note);
    expect(found).toHaveLength(2);
  });
});

describe('a subject', () => {
  const claimOf = (run: string) => ({
    subject: 'image',
    run,
    command: 'toil',
    user: 'anna',
    started: 0,
    seesAll: false,
  });
  const held = async (id: string, run: string) => {
    const subject = await claimsOf(id).take(claimOf(run));
    if (!('release' in subject)) throw new Error(`taken by ${subject.server}`);
    return subject;
  };

  test("is one run's at all servers, until it is released", async () => {
    const first = await held('a', 'r1');
    expect(await claimsOf('b').take(claimOf('r2'))).toMatchObject({
      subject: 'image',
      run: 'r1',
      command: 'toil',
      user: 'anna',
      started: 0,
      server: 'mn-a',
    });
    await first.release();
    await (await held('b', 'r2')).release();
  });

  test('that another run has begun on meanwhile is lost, also when that has ended', async () => {
    const first = await held('a', 'r1');
    // As if the first server had been suspended for longer than its claim holds.
    await database.shared.release({ kind: 'work', name: 'image', holder: 'a' });
    const second = await held('b', 'r2');
    let steps = 0;
    const step = async () => ++steps;
    await expect(first.settle(step)).rejects.toThrow('another run has begun on image since');
    expect([first.lost.aborted, second.lost.aborted]).toEqual([true, false]);
    expect(await second.settle(step)).toBe(1);
    await second.release();
    const third = await held('a', 'r3');
    await database.shared.release({ kind: 'work', name: 'image', holder: 'a' });
    await (await held('b', 'r4')).release();
    await expect(third.settle(step)).rejects.toThrow('another run has begun on image since');
    await Promise.all([first.release(), third.release()]);
  });

  test('of a process that was killed is free for the next one in its data directory, and for no other', async () => {
    const killed = await held('a', 'r6');
    const next = (name: string, place: string, machine = 'm1') =>
      new WorkClaims({ shared: database.shared, servers: { id: 'c', name, machine }, data: place, log });
    for (const claims of [next('mn-b', '/a'), next('mn-a', '/b'), next('mn-a', '/a', 'clone')]) {
      await claims.resume();
      expect(await claims.take(claimOf('r7'))).toMatchObject({ run: 'r6' });
    }
    const claims = next('mn-a', '/a');
    await claims.resume();
    const subject = await claims.take(claimOf('r7'));
    expect(subject).toHaveProperty('release');
    if ('release' in subject) await subject.release();
    await killed.release();
  });

  test('that a server of another version has is taken, and stops nobody from starting', async () => {
    const strange = { kind: 'work', name: 'image', holder: 'z' };
    for (const body of ['{}', 'no JSON']) {
      expect(await database.shared.claim({ ...strange, body }, 60_000)).toBe(true);
      const claims = claimsOf('a');
      await claims.resume();
      await expect(claims.take(claimOf('r8'))).rejects.toThrow('A server of another version works on image');
    }
    await database.shared.release(strange);
    await (await held('a', 'r8')).release();
  });

  test('whose claim ended without anybody else wanting it is kept', async () => {
    const first = await held('a', 'r5');
    await database.shared.release({ kind: 'work', name: 'image', holder: 'a' });
    expect(await first.settle(async (check) => check())).toBeUndefined();
    await first.release();
  });
});
