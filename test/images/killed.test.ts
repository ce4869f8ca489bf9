import { execFileSync } from 'node:child_process';
import { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { compileCache } from '../../src/core/home.ts';
import { during } from './small-image.ts';
import { contents, inMemory, removeStagings, type Step, steps, workOf } from './steps.ts';

// Each piece of work is done several times.
vi.setConfig({ testTimeout: 300_000 });

/** Of the changes of each work, every third is enough for most runs; `npm run test:machines` tries all. */
const every = Number(process.env['MUSTER_KILL_EVERY'] ?? 3);

/** Does the work and is killed before a change of the file system; whether it came to its end before. */
async function killedBefore(change: number, { module }: Step, job: unknown): Promise<boolean> {
  const worker = new Worker(new URL('./killed-worker.ts', import.meta.url), {
    workerData: { module, job, after: change },
    // Many of them are started.
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
  });
  let isDone = false;
  worker.on('message', () => {
    isDone = true;
  });
  await new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject));
  return isDone;
}

async function again(step: Step, job: unknown): Promise<void> {
  const work = await workOf(step);
  await during((task) => work(job, task));
}

it.each(steps)('$name can be killed before any change and done again', async (step) => {
  const [top, saved] = [inMemory(64), inMemory(64)];
  const job = await step.prepare(top);
  execFileSync('cp', ['-a', `${top}/.`, saved]);
  await again(step, job);
  const wanted = contents(top);
  for (let change = 0; ; change += every) {
    execFileSync('find', [top, '-mindepth', '1', '-delete']);
    execFileSync('cp', ['-a', `${saved}/.`, top]);
    if (await killedBefore(change, step, job)) {
      expect(change).toBeGreaterThan(0);
      break;
    }
    removeStagings(top);
    await again(step, job);
    expect(contents(top), `killed before change ${change + 1}`).toEqual(wanted);
  }
});

// The object is defined after the files took their place, by another process.
it.each(steps.filter(({ defines }) => defines))(
  '$name whose image could not be defined is done again',
  async (step) => {
    const top = inMemory(64);
    const job = await step.prepare(top);
    const work = await workOf(step);
    const first = await during((task) => work(job, task));
    const wanted = contents(top);
    expect(await during((task) => work(job, task))).toEqual(first);
    expect(contents(top)).toEqual(wanted);
  },
);
