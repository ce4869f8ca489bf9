import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memberLimits, MemberParser, parseBody } from '../../src/rest/http/parse-body.ts';

/** Cuts a text into pieces of the given sizes, over and over. */
function* pieces(bytes: Buffer, sizes: readonly number[]): Iterable<Buffer> {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length]!;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

function parsed(bytes: Buffer, sizes: readonly number[] = [4_096]): Record<string, unknown> {
  const parser = new MemberParser();
  for (const piece of pieces(bytes, sizes)) parser.add(piece);
  return parser.end();
}

/** What comes out, or that it is refused. */
function outcome(parse: () => Record<string, unknown>): unknown {
  try {
    // The order of members counts as well.
    return Object.entries(parse());
  } catch (error) {
    return (error as { kind?: string }).kind;
  }
}

const expected = (bytes: Buffer): unknown => outcome(() => parseBody(bytes).members);
const found = (bytes: Buffer, sizes: readonly number[]): unknown => outcome(() => parsed(bytes, sizes));

const sizes = fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 4 });
const long = 'x'.repeat(9_000);
/** No backslashes in names: JSON.parse of Node 24.21 itself mistakes "\"" for "\\" where it has met the latter. */
const isClear = (value: unknown): boolean => !JSON.stringify(value).includes('\\\\');
const name = fc
  .oneof(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.constantFrom('__proto__', '1', long))
  .filter(isClear);
const value = fc.oneof(
  fc.jsonValue().filter(isClear),
  fc.array(fc.oneof(fc.jsonValue().filter(isClear), fc.constant(long)), { maxLength: 6 }),
  fc.string({ minLength: 5_000, maxLength: 9_000 }),
  fc.constant(long),
);

describe('a long body comes out as JSON.parse reads it', () => {
  test('whatever it holds and however it is cut', () => {
    const object = fc.dictionary(name, value, { maxKeys: 12 });
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, '\t'), sizes, (given, indent, cuts) => {
        const bytes = Buffer.from(JSON.stringify(given, null, indent));
        expect(found(bytes, cuts)).toEqual(expected(bytes));
      }),
      { numRuns: 100 },
    );
  });

  test('and what is no JSON is refused wherever it is broken', () => {
    const object = fc.dictionary(name, value, { minKeys: 1, maxKeys: 6 });
    const junk = fc.constantFrom(',', '}', '{', ']', '[', '"', ':', '\\', ' ', '1', 'null', '\u0000', '\ufeff', '');
    const place = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(object, place, junk, fc.nat(2), sizes, (given, where, piece, dropped, cuts) => {
        const text = JSON.stringify(given);
        const at = Math.floor(where * text.length);
        const bytes = Buffer.from(text.slice(0, at) + piece + text.slice(at + dropped));
        expect(found(bytes, cuts)).toEqual(expected(bytes));
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    '{}',
    ' \n{ }\t',
    '{BLANKS}BLANKS',
    '{BLANKS,}',
    '{BLANKS,"a":1}',
    '{"a":1,BLANKS}',
    '{"a":"BLANKS",}',
    '{"a":"BLANKS","b":2}',
    '{"a":"BLANKS",,"b":2}',
    '{"a":"BLANKS"],"b":2}',
    '{"a":"BLANKS","a":2,"b":3,"a":4}',
    '{"a":"BLANKS","__proto__":{"b":1}}',
    '{"b":"BLANKS","1":1}',
    '{"a":[BLANKS]}',
    '{"a":[1,BLANKS]}',
    '{"a":[BLANKS,]}',
    '{"a":[BLANKS,1]}',
    '{"a":["BLANKS",2,{"b":[3]}]BLANKS,"b":[]BLANKS}',
    '{"a":["BLANKS",2}',
    '{"a":["BLANKS",2]1}',
    '{"a":["BLANKS"][2]}',
    '{"a":["BLANKS"],}',
    '{"a":["BLANKS"],"a":[2]}',
    '{"a":1,"b":2,"a":["BLANKS",2],"b":["BLANKS"]}',
    '{"__proto__":["BLANKS",2]}',
    '{["BLANKS"]}',
    '{"a"["BLANKS"]}',
    '{"a":1["BLANKS"]}',
    '{"a":[1}',
    '{"a":1]',
    '{"a":1}}',
    '{"a":1}{"b":2}',
    '{"a":"\\"}',
    '[]',
    '"text"',
    'null',
    '   ',
    '\ufeff{"a":1}',
    '\ufeff [',
    '{"a":1}\ufeff',
    '{"a":"BLANKS",\ufeff"b":2}',
  ])('%j', (text) => {
    const bytes = Buffer.from(text.replaceAll('BLANKS', ' '.repeat(20_000)));
    for (const cuts of [[1], [3, 7], [16_384], [100_000]]) expect(found(bytes, cuts)).toEqual(expected(bytes));
  });

  test.each([[0xff], [0xef, 0xbb, 0x7b], [0xef, 0xbb, 0xbf], [0x7b, 0x22, 0xc3, 0x22, 0x3a, 0x31, 0x7d]])(
    'bytes %j',
    (...numbers) => {
      const bytes = Buffer.from(numbers);
      for (const cuts of [[1], [100]]) expect(found(bytes, cuts)).toEqual(expected(bytes));
    },
  );
});

describe('what is too much is refused', () => {
  const refusal = (message: string): unknown => expect.objectContaining({ kind: 'too-large', message });

  test('nesting', () => {
    const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(parsed(Buffer.from(deep(32)))).toEqual(JSON.parse(deep(32)));
    expect(() => parsed(Buffer.from(deep(33)))).toThrow(refusal('The body is nested deeper than 32 levels.'));
  });

  test('one member of more than a mebibyte', () => {
    const text = (size: number) => `{"a":1,"b":"${'x'.repeat(size)}"}`;
    expect(parsed(Buffer.from(text(memberLimits.bytes - 100)))).toHaveProperty('b');
    expect(() => parsed(Buffer.from(text(memberLimits.bytes + 40_000)))).toThrow(
      refusal('The body has a member of more than 1048576 bytes.'),
    );
  });

  test('one element of more than a mebibyte, but not many that are more together', () => {
    const text = (size: number) => `{"a":[1,${`"${'x'.repeat(size)}",`.repeat(3)}2],"b":1}`;
    expect(parsed(Buffer.from(text(memberLimits.bytes - 100)))['a']).toHaveLength(5);
    expect(() => parsed(Buffer.from(text(memberLimits.bytes + 40_000)))).toThrow(
      refusal('The body has an element of more than 1048576 bytes.'),
    );
  });

  test('very many members', () => {
    const text = (count: number) => `{${Array.from({ length: count }, (_, i) => `"n${i}":{}`).join()}}`;
    expect(Object.keys(parsed(Buffer.from(text(memberLimits.names)))).length).toBe(memberLimits.names);
    expect(() => parsed(Buffer.from(text(memberLimits.names + 1)))).toThrow(
      refusal('The body has more than 100000 members.'),
    );
  });

  test('very many elements', () => {
    const member = (i: number) => `"n${i}":[${'0,'.repeat(400_000)}0]`;
    expect(() => parsed(Buffer.from(`{${[1, 2, 3, 4, 5, 6].map(member).join()}}`))).toThrow(
      refusal('The body has more than 2000000 members and elements.'),
    );
  });
});

test.each([
  ['{"a":["BLANKS",1,2],"b":[3,[4,5]]}', false],
  ['{"a":["BLANKS",1,2],"b":1,"a":2}', true],
  ['{"a":[{"c":1,"c":2},"BLANKS",1],"b":1}', true],
])('of %j it is known whether something is named twice', (text, repeats) => {
  for (const size of [1, 100_000]) {
    const parser = new MemberParser();
    for (const piece of pieces(Buffer.from(text.replaceAll('BLANKS', ' '.repeat(20_000))), [size])) parser.add(piece);
    expect(parser.repeats).toBe(repeats);
  }
});

test('an error tells where it is, and nothing of the text', () => {
  const text = `{"first":"${'x'.repeat(20_000)}","second":"${'y'.repeat(20_000)}","userPW":sesame,"b":"${'z'.repeat(20_000)}"}`;
  expect(() => parsed(Buffer.from(text))).toThrow(
    "The body is not JSON: Unexpected token 's' between bytes 40024 and 60046.",
  );
});
