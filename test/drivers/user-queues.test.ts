import { array, assert, constantFrom, property } from 'fast-check';
import { expect, test } from 'vitest';
import { UserQueues } from '../../src/drivers/user-queues.ts';

test('whoever waits is served before anybody is served twice, each user in order', () => {
  assert(
    property(array(constantFrom('a', 'b', 'c', 'd')), (users) => {
      const turns = new UserQueues<{ user: string; number: number }>();
      users.forEach((user, number) => turns.add({ user, number }));
      const left = new Map<string, number>();
      for (const user of users) left.set(user, (left.get(user) ?? 0) + 1);
      const served: number[] = [];
      while (turns.size > 0) {
        const round = [...left.keys()].map(() => turns.next()!);
        expect(new Set(round.map(({ user }) => user))).toEqual(new Set(left.keys()));
        for (const { user, number } of round) {
          served.push(number);
          const rest = left.get(user)! - 1;
          if (rest === 0) left.delete(user);
          else left.set(user, rest);
        }
      }
      expect(turns.next()).toBeUndefined();
      for (const name of ['a', 'b', 'c', 'd']) {
        const own = served.filter((number) => users[number] === name);
        expect(own).toEqual([...own].sort((x, y) => x - y));
      }
      expect(served).toHaveLength(users.length);
    }),
  );
});

test('who is taken out is gone, and room is made at the cost of whoever has more', () => {
  const turns = new UserQueues<{ user: string; name: string }>();
  const [first, second, third, other] = [
    { user: 'a', name: 'first' },
    { user: 'a', name: 'second' },
    { user: 'a', name: 'third' },
    { user: 'b', name: 'other' },
  ] as const;
  for (const one of [first, second, third, other]) turns.add(one);
  expect([turns.remove(second), turns.remove(second), turns.size]).toEqual([true, false, 3]);
  expect(turns.makeRoomFor('b')).toBeUndefined();
  expect(turns.makeRoomFor('c')).toBe(third);
  expect(turns.takeAll()).toEqual([first, other]);
  expect([turns.size, turns.next()]).toEqual([0, undefined]);
});
