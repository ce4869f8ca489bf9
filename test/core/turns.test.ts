import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { NamedTurns } from '../../src/core/turns.ts';

const never = new AbortController().signal;

test('work of one name runs one at a time and in order, also after failures; that of other names at once', async () => {
  const turns = new NamedTurns();
  const events: string[] = [];
  const work = (name: string, label: string): Promise<void> =>
    turns.take(name, never, async () => {
      events.push(`+${label}`);
      await pause(5);
      events.push(`-${label}`);
      if (label === 'a1') throw new Error('failed');
    });
  const results = await Promise.allSettled([work('a', 'a1'), work('a', 'a2'), work('a', 'a3'), work('b', 'b1')]);
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(events.filter((event) => event.includes('a'))).toEqual(['+a1', '-a1', '+a2', '-a2', '+a3', '-a3']);
  expect(events.slice(0, 2)).toEqual(['+a1', '+b1']);
});

test('who stops waiting does not begin, and those behind still wait for those before', async () => {
  const turns = new NamedTurns();
  const stop = new AbortController();
  const events: string[] = [];
  const first = turns.take('a', never, async () => {
    await pause(20);
    events.push('first');
  });
  const second = turns.take('a', stop.signal, async () => events.push('second'));
  stop.abort(new Error('no longer'));
  await expect(second).rejects.toThrow('no longer');
  expect(events).toEqual([]);
  await turns.take('a', never, async () => events.push('third'));
  await first;
  expect(events).toEqual(['first', 'third']);
  await expect(turns.take('a', stop.signal, async () => events.push('late'))).rejects.toThrow('no longer');
});
