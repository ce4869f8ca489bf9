import { describe, expect, it } from 'vitest';
import { NamedPlaces } from '../../src/core/places.ts';

const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Work that ends when it is told. */
function held(places: NamedPlaces, name: string, signal = never) {
  const end = Promise.withResolvers<void>();
  const state = { begun: false, end: end.resolve, done: Promise.resolve() };
  state.done = places.take(name, signal, () => {
    state.begun = true;
    return end.promise;
  });
  state.done.catch(() => undefined);
  return state;
}

describe('places by name', () => {
  it('lets so many of one name work at a time, the others in their order, and those of another name at once', async () => {
    const places = new NamedPlaces(2);
    const works = [1, 2, 3, 4].map(() => held(places, 'alice'));
    const other = held(places, 'bob');
    await turn();
    expect([...works, other].map(({ begun }) => begun)).toEqual([true, true, false, false, true]);
    works[1]!.end();
    await turn();
    expect(works.map(({ begun }) => begun)).toEqual([true, true, true, false]);
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
    expect(works[3]!.begun).toBe(true);
  });

  it('gives a place back after a failure, and none to those who have left', async () => {
    const places = new NamedPlaces(1);
    const abort = new AbortController();
    const first = held(places, 'alice');
    const leaving = held(places, 'alice', abort.signal);
    const last = held(places, 'alice');
    abort.abort(new Error('left'));
    await expect(leaving.done).rejects.toThrow('left');
    await expect(places.take('alice', abort.signal, () => Promise.resolve())).rejects.toThrow('left');
    first.end();
    await first.done;
    await turn();
    expect([leaving.begun, last.begun]).toEqual([false, true]);
    last.end();
    await last.done;
    await expect(places.take('alice', never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await places.take('alice', never, () => Promise.resolve('again'))).toBe('again');
  });
});
