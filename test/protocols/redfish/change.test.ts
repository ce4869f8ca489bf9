import { describe, expect, it } from 'vitest';
import { isSameIn, isSet } from '../../../src/protocols/redfish/resource.ts';

describe('a change', () => {
  it.each([
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 2 }, false],
    [{ a: { b: { c: 'x', d: 1 } } }, { a: { b: { c: 'x' } } }, true],
    [{ a: { b: null } }, { a: { b: 'x' } }, false],
    [{}, { a: null }, true],
    [{ a: 7 }, { a: { b: 1 } }, false],
    [{ a: ['x', 'y'] }, { a: ['x'] }, false],
    [{ a: ['x', 'y'] }, { a: ['x', 'y'] }, true],
    [{ a: [{ b: 1 }, { b: 2, c: 3 }] }, { a: [{}, { b: 2 }] }, true],
    [{ a: [{ b: 1 }] }, { a: [{}, { b: 2 }] }, false],
    [undefined, { a: 1 }, false],
  ])('of %o to %o is so already: %s', (body, change, is) => expect(isSet(body, change)).toBe(is));

  it.each([
    [{ a: 1, z: 1 }, { a: 1, z: 2 }, { a: 5 }, true],
    [{ a: 1 }, { a: 2 }, { a: 5 }, false],
    [{}, {}, { a: 5 }, true],
    [{}, { a: 4 }, { a: 5 }, false],
    [{ a: [{ b: 1, c: 1 }] }, { a: [{ b: 1, c: 2 }] }, { a: [{ b: 3 }] }, true],
    [{ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, { a: [{ b: 3 }] }, false],
    [{ a: ['x'] }, { a: ['x', 'y'] }, { a: ['z'] }, false],
    [{ Password: null }, { Password: null }, { Password: 'x' }, true],
  ])('of %o, which is now %o, to %o rests on what is still so: %s', (before, now, change, is) =>
    expect(isSameIn(before, now, change)).toBe(is),
  );
});
