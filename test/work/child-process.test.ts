import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, expect, test } from 'vitest';
import { compileCache } from '../../src/core/home.ts';
import { doInChild } from '../../src/work/child-process.ts';
import type { Order } from '../../src/work/messages.ts';
import { processesWith, until } from '../harness/processes.ts';
import { scratchDirectory } from '../harness/store.ts';
import type { Step } from '../lab/toil/work.ts';

const scratch = scratchDirectory();
mkdirSync(join(scratch, 'place'));
afterAll(() => rmSync(scratch, { recursive: true }));

const log = pino({ level: 'silent' });
const about = { command: 'toil', user: 'anna', client: '', range: '', line: '', request: '', started: 0, stagings: [] };
const order = (steps: readonly Step[]): Order => ({
  module: join(import.meta.dirname, '../lab/toil/work.ts'),
  job: { steps },
  directory: join(scratch, 'records'),
  record: { ...about, run: 'r' },
  reserve: 1,
  isolated: false,
});

test('where namespaces cannot be made, work is done without, and ends with all that it has started', async () => {
  const lines: string[] = [];
  const written: string[] = [];
  const controller = new AbortController();
  const seconds = `37${process.pid}`;
  const done = doInChild(
    order([
      { staging: join(scratch, 'place') },
      { program: ['sh', '-c', `echo on; sleep ${seconds} & sleep ${seconds}`] },
    ]),
    {
      signal: controller.signal,
      log,
      tell: (batch) => lines.push(...batch.lines),
      writesTo: (directory) => written.push(directory),
    },
  );
  done.catch(() => undefined);
  await until(() => processesWith(seconds).length === 2 && lines.length > 0);
  expect(lines).toEqual(['on']);
  expect(written).toEqual([join(scratch, 'place/.muster-r-1')]);
  controller.abort(new Error('enough'));
  await expect(done).rejects.toThrow('enough');
  await until(() => processesWith(seconds).length === 0);
});

test('work begins with what was compiled before, and so do its threads', async () => {
  const module = join(import.meta.dirname, '../lab/toil/compile-caches.ts');
  const caches = await doInChild(
    { ...order([]), module },
    { signal: new AbortController().signal, log, tell: () => undefined, writesTo: () => undefined },
  );
  expect(caches).toEqual({ process: compileCache, thread: compileCache });
});
