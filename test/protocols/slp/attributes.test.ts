import { describe, expect, it } from 'vitest';
import { parseAttributes } from '../../../src/protocols/slp/service.ts';

describe('an attribute list', () => {
  it.each<[string, Record<string, string[]>]>([
    ['', {}],
    ['(a=1)', { a: ['1'] }],
    ['(a=1,2, 3 ),(b=x)', { a: ['1', '2', '3'], b: ['x'] }],
    ['(a=1), (b=2)', { a: ['1'], b: ['2'] }],
    ['keyword,(a=1),other', { keyword: [], a: ['1'], other: [] }],
    ['(A-Name=Value)', { 'a-name': ['Value'] }],
    ['(web-url=https://10.0.0.1:473/?a=b )', { 'web-url': ['https://10.0.0.1:473/?a=b'] }],
    ['(a=one\\2c two\\29),(n\\2cm=1)', { a: ['one, two)'], 'n,m': ['1'] }],
    ['(city=Z\\c3\\bcrich)', { city: ['Zürich'] }],
    ['(a=\\zz\\2)', { a: ['\\zz\\2'] }],
    ['(hostname=),(b=2)', { hostname: [''], b: ['2'] }],
    ['(a=1),(a=2)', { a: ['1'] }],
    ['(a=1', { a: ['1'] }],
    ['(=1),()', {}],
    ['(__proto__=1)', { ['__proto__']: ['1'] }],
    ['a)(b=1)', { 'a)': [], b: ['1'] }],
  ])('%j', (text, expected) => {
    expect([...parseAttributes(text)]).toEqual(Object.entries(expected));
  });

  it('is bounded, however long it is', () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `(n${i}=${'v,'.repeat(200)})`).join(',');
    const found = parseAttributes(many);
    expect(found.size).toBe(256);
    expect(found.get('n0')).toHaveLength(64);
    expect(parseAttributes('k,'.repeat(10) + Array.from({ length: 999 }, (_, i) => `k${i}`).join()).size).toBe(256 - 9);
  });
});
