import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, test } from 'vitest';
import { NamedSlots } from '../../src/core/limiter.ts';

const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when it is told. */
function held(slots: NamedSlots, name: string, signal = never) {
  const end = Promise.withResolvers<void>();
  const state = { begun: false, end: end.resolve, done: Promise.resolve() };
  state.done = slots.take(name, signal, () => {
    state.begun = true;
    return end.promise;
  });
  state.done.catch(() => undefined);
  return state;
}

describe('slots by name', () => {
  it('lets so many of one name work at a time, the others in their order, and those of another name at once', async () => {
    const slots = new NamedSlots(2);
    const works = [1, 2, 3, 4].map(() => held(slots, 'alice'));
    const other = held(slots, 'bob');
    await turn();
    expect([...works, other].map(({ begun }) => begun)).toEqual([true, true, false, false, true]);
    works[1]!.end();
    await turn();
    expect(works.map(({ begun }) => begun)).toEqual([true, true, true, false]);
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
    expect(works[3]!.begun).toBe(true);
  });

  it('gives a slot back after a failure, and none to those who have left', async () => {
    const slots = new NamedSlots(1);
    const abort = new AbortController();
    const first = held(slots, 'alice');
    const leaving = held(slots, 'alice', abort.signal);
    const last = held(slots, 'alice');
    abort.abort(new Error('left'));
    await expect(leaving.done).rejects.toThrow('left');
    await expect(slots.take('alice', abort.signal, () => Promise.resolve())).rejects.toThrow('left');
    first.end();
    await first.done;
    await turn();
    expect([leaving.begun, last.begun]).toEqual([false, true]);
    last.end();
    await last.done;
    await expect(slots.take('alice', never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await slots.take('alice', never, () => Promise.resolve('again'))).toBe('again');
  });
});

test('with one slot, work of a name runs one at a time and in order, also after failures; that of other names at once', async () => {
  const slots = new NamedSlots(1);
  const events: string[] = [];
  const work = (name: string, label: string): Promise<void> =>
    slots.take(name, never, async () => {
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
  const slots = new NamedSlots(1);
  const stop = new AbortController();
  const events: string[] = [];
  const first = slots.take('a', never, async () => {
    await pause(20);
    events.push('first');
  });
  const second = slots.take('a', stop.signal, async () => events.push('second'));
  stop.abort(new Error('no longer'));
  await expect(second).rejects.toThrow('no longer');
  expect(events).toEqual([]);
  await slots.take('a', never, async () => events.push('third'));
  await first;
  expect(events).toEqual(['first', 'third']);
  await expect(slots.take('a', stop.signal, async () => events.push('late'))).rejects.toThrow('no longer');
});
