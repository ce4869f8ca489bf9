import { afterEach, expect, test } from 'vitest';
import { HookQueue, type QueueLimits, usualLimits } from '../../../src/events/hooks/hook-queue.ts';

const queues: HookQueue[] = [];
afterEach(() => {
  for (const queue of queues) queue.close();
});

const quick: QueueLimits = { ...usualLimits, firstWait: 1, longestWait: 2 };
const status = (number: number) => ({ kind: 'status' as const, data: `{"number":${number}}` });

/** A queue whose receiver takes what `takes` says. */
function open(limits: QueueLimits, takes: (push: number) => boolean | Promise<boolean>) {
  const pushes: string[][] = [];
  const givenUp: unknown[] = [];
  let tried = 0;
  const queue = new HookQueue(
    async (events) => {
      if (!(await takes(++tried))) throw new Error('no');
      pushes.push([...events]);
    },
    (error, isGivenUp) => isGivenUp && givenUp.push(error),
    limits,
  );
  queues.push(queue);
  return { queue, pushes, givenUp };
}

test('events that came while a push was under way go together, and in their order', async () => {
  let release = (): void => undefined;
  const { queue, pushes } = open(
    quick,
    (push) => push > 1 || new Promise((resolve) => (release = () => resolve(true))),
  );
  for (let i = 1; i <= 5; i++) queue.add([status(i)]);
  release();
  await expect.poll(() => pushes.length).toBe(2);
  expect(pushes.flat().map((text) => JSON.parse(text).number)).toEqual([1, 2, 3, 4, 5]);
});

test('of more than there is room for the oldest are dropped, which the next push tells', async () => {
  let release = (): void => undefined;
  const limits = { ...quick, events: 3 };
  const { queue, pushes } = open(
    limits,
    (push) => push > 1 || new Promise((resolve) => (release = () => resolve(true))),
  );
  for (let i = 1; i <= 8; i++) queue.add([status(i)]);
  expect(queue.waiting).toBe(3);
  release();
  await expect.poll(() => pushes.length).toBe(2);
  const [gap, ...rest] = pushes[1]!.map((text) => JSON.parse(text));
  expect(gap).toEqual({ kind: 'gap', message: expect.stringMatching(/^4 events/) });
  expect(rest.map(({ number }) => number)).toEqual([6, 7, 8]);
  expect(queue.counts).toEqual({ delivered: 4, failed: 0, dropped: 4 });
});

test('what is never taken is given up after its tries, and the next push tells it', async () => {
  const { queue, pushes, givenUp } = open({ ...quick, tries: 3 }, (push) => push > 3);
  queue.add([status(1)]);
  await expect.poll(() => givenUp.length).toBe(1);
  queue.add([status(2)]);
  await expect.poll(() => pushes.flat().length).toBe(2);
  expect(JSON.parse(pushes[0]![0]!)).toMatchObject({ kind: 'gap' });
});
