import { expect, test } from 'vitest';
import { NumberedIds } from '../../src/core/numbered-ids.ts';

test('ids have the form of a UUID and lead back to their count', () => {
  const ids = new NumberedIds();
  for (const count of [0, 1, 255, 4_294_967_296]) {
    expect(ids.id(count)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(ids.countOf(ids.id(count))).toBe(count);
  }
});

test('ids of another source and texts that are no ids have no count', () => {
  const ids = new NumberedIds();
  const prefix = ids.id(0).slice(0, -12);
  const others = [
    new NumberedIds().id(1),
    '',
    'x',
    prefix,
    `${prefix}00000000000g`,
    `${prefix}00000000000A`,
    `${ids.id(1)}0`,
  ];
  for (const other of others) expect(ids.countOf(other)).toBe(undefined);
});
