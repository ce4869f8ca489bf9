import { expect, test } from 'vitest';
import { withinRoom } from '../../src/dispatch/kept-output.ts';

/** So many bytes of room. */
function roomOf(bytes: number) {
  let left = bytes;
  const take = (wanted: number): number => {
    const taken = Math.min(wanted, left);
    left -= taken;
    return taken;
  };
  return () => ({ take });
}

const tooLarge = {
  node: 'n1',
  error: 'its worker sent a result that is too large to be kept. Ask for fewer nodes at a time.',
};

test('a large value of a worker takes room, and is refused where there is none', () => {
  const room = roomOf(1_500_000);
  const large = { node: 'n1', value: { log: ['x'.repeat(1_000_000)] } };
  expect(withinRoom(large, room)).toBe(large);
  expect(withinRoom(large, room)).toEqual(tooLarge);
  const small = { node: 'n1', value: { log: ['x'.repeat(100_000)] } };
  expect(withinRoom(small, room)).toBe(small);
});

test('many short texts take room too, and so do notes beside an output', () => {
  const texts = Array.from({ length: 6_000 }, () => '');
  const members = Object.fromEntries(texts.map((_, at) => [`m${at}`, '']));
  for (const value of [texts, { texts }, { members }, members])
    expect(withinRoom({ node: 'n1', value }, roomOf(0))).toEqual(tooLarge);
  const output = { stdout: '', stderr: '', notes: texts };
  expect(withinRoom({ node: 'n1', output }, roomOf(0))).toEqual(tooLarge);
  expect(withinRoom({ node: 'n1', error: 'it failed.', output }, roomOf(0))).toEqual(tooLarge);
});

test('output without room is cut', () => {
  const output = { stdout: 'abc', stderr: '', code: 1 };
  expect(withinRoom({ node: 'n1', output }, roomOf(2))).toEqual({
    node: 'n1',
    output: {
      stdout: '',
      stderr: '',
      code: 1,
      cut: 3,
      notes: ['The output was cut after 0 bytes; 3 more are not shown.'],
    },
  });
});
