import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
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
afterAll(() => {
  rmSync(scratch, { recursive: true });
  rmSync(memory, { recursive: true });
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

const open = (settings: Partial<LongWorkSettings> = {}): LongWork =>
  new LongWork({ ...defaults, ...settings }, { data, log });

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
const toil = (work: LongWork, steps: readonly Step[], how?: Toil) => doSteps(begin(work, how), steps);

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
    const longRun = begin(open(), { signal: controller.signal });
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

  test('of one user is bounded', () => {
    const work = open();
    for (let i = 0; i < 16; i++) begin(work);
    expect(() => begin(work)).toThrow('User "anna" already runs 16 long commands');
    begin(work, { user: 'bert' });
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
    expect(() => begin(work)).toThrow('muster was stopped before this ended');
    const found: string[] = [];
    const kept = await open().resume(async ({ run }) => void found.push(run));
    expect([kept.length, found]).toEqual([1, []]);
  });

  test('that an earlier muster left is told once, kept for a day, and its stagings are removed, but nothing else', async () => {
    const directory = join(data, 'long-work');
    const about = { command: 'toil', user: 'anna', client: '', range: '', line: '', request: '', started: 0 };
    const old = Date.now() - 2 * 86_400_000;
    const stagings = ['killed', 'known', 'done'].map((run) => join(data, `.muster-${run}-1`));
    for (const path of [...stagings, join(data, 'precious')]) mkdirSync(path);
    await writeRecord(directory, { ...about, run: 'killed', stagings: [stagings[0]!] });
    await writeRecord(directory, { ...about, run: 'known', interrupted: old, stagings: [stagings[1]!] });
    await writeRecord(directory, { ...about, run: 'done', done: true, stagings: [stagings[2]!] });
    await writeRecord(directory, { ...about, run: 'old', interrupted: old, stagings: [] });
    await writeRecord(directory, { ...about, run: 'forged', stagings: [join(data, 'precious')] });
    const found: string[] = [];
    const work = open();
    const kept = await work.resume(async ({ run }) => void found.push(run));
    expect(found.sort()).toEqual(['forged', 'killed']);
    expect(kept.map(({ run }) => run).sort()).toEqual(['forged', 'killed', 'known']);
    await until(() => stagings.every((path) => !existsSync(path)) && logged.includes('could not be removed'));
    expect(existsSync(join(data, 'precious'))).toBe(true);
    await work.close();
    expect(readdirSync(directory).sort()).toEqual(['forged.json', 'killed.json', 'known.json']);
  });
});
