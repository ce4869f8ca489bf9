import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileExpression } from '../../../src/objects/substitution/template.ts';

const captures = ['whole', '12', 'ab', undefined, '007', '-3', '4x'];

function compute(text: string): string {
  return compileExpression(text)(captures);
}

test.each([
  // arithmetic
  ['1+2*3', '7'],
  ['(1+2)*3', '9'],
  ['10-3-2', '5'],
  ['7/2', '3'],
  ['-7/2', '-3'],
  ['-7%3', '-1'],
  ['7%-3', '1'],
  ['2*-3', '-6'],
  ['- -3', '3'],
  ['+5', '5'],
  ['0*-1', '0'],
  ['9007199254740991/2', '4503599627370495'],
  [' 1 +\t2 ', '3'],
  ['08+1', '9'],
  // captures
  ['$1', '12'],
  ['${1}+1', '13'],
  ['$2', 'ab'],
  ['$2+1', '1'],
  ['$3', ''],
  ['$3+1', '1'],
  ['$99+1', '1'],
  ['$4', '007'],
  ['$4+0', '7'],
  ['$5*2', '-6'],
  ['$6+1', '5'],
  // text
  ['"a" . "b"', 'ab'],
  ['"n$1-${2}"', 'n12-ab'],
  ["'n$1'", 'n$1'],
  [String.raw`'it\'s \\ \n'`, String.raw`it's \ \n`],
  [String.raw`"\"\$1\\\t|"`, '"$1\\\t|'],
  ['$1.5', '125'],
  ['1+2 . 3+4', '37'],
  ['"$"', '$'],
  // comparisons and choices
  ['1<2', '1'],
  ['2<1', ''],
  ['2>=2', '1'],
  ['1<=0', ''],
  ['3>2', '1'],
  ['1==1', '1'],
  ['1!=1', ''],
  ['$4==7', '1'],
  ['"007" eq "7"', ''],
  ['"a" ne "b"', '1'],
  ['"a" lt "b"', '1'],
  ['"a" gt "b"', ''],
  ['"a" le "a"', '1'],
  ['"a" ge "b"', ''],
  ['0?"y":"n"', 'n'],
  ['"0"?"y":"n"', 'n'],
  ['"00"?"y":"n"', 'y'],
  ['1?2?"a":"b":"c"', 'a'],
  ['0?1:0?2:3', '3'],
  ['$1>10&&$1<20?"in":"out"', 'in'],
  ['0||5', '5'],
  ['4||1/0', '4'],
  ['0&&1/0', '0'],
  ['!0', '1'],
  ['!5', ''],
  ['1?2:1/0', '2'],
  // functions of the reference system
  ['a2idx("c")', '3'],
  ['a2idx("C")', '3'],
  ['a2zidx("a")', '0'],
  ['a2idx($2)', '1'],
  ['a2idx("")', ''],
  ['a2idx("5")', ''],
  ['dim2idx(3)', '3'],
  ['dim2idx(1,10,1)', '1'],
  ['dim2idx(2,10,1)', '11'],
  ['dim2idx(2,10,3,8,4,8,5)', '797'],
  ['dim2idx(1,10)', ''],
  ['skip(10,"3:2,6")', '7'],
  ['skip(2,"3:2,6")', '2'],
  ['skip(3,"3:2,6")', '-1'],
  ['skip(4,"3:2,6")', '-1'],
  ['skip(5,"3:2,6")', '3'],
  ['skip(6,"3:2,6")', '-1'],
  ['skip(7,"x")', ''],
  ['ipadd(10,1,0,10,250,0,0)', '10.1.1.4'],
  ['ipadd(10,1,0,10,250,1,1)', '10.1.1.6'],
  ['ipadd(10,1,0,10,5)', '10.1.0.15'],
  ['ipadd(10,1,0,254,1,1,1)', '10.1.1.1'],
  ['ipadd(10,255,255,255,1,0,0)', '11.0.0.0'],
  ['ipadd(10,1,1,0,-1,0,0)', '10.1.0.255'],
  ['ipadd(255,255,255,255,1,0,0)', ''],
  ['ipadd(10,0,0,1,1,200,56)', ''],
  ['mknum("ab")', '195'],
  ['mknum("")', '0'],
  // functions of Perl
  ['lc("AbC")', 'abc'],
  ['uc("AbC")', 'ABC'],
  ['length("$1x")', '3'],
  ['substr("abcdef",2)', 'cdef'],
  ['substr("abcdef",1,2)', 'bc'],
  ['substr("abcdef",-2)', 'ef'],
  ['substr("abcdef",1,-2)', 'bcd'],
  ['substr("abc",9)', ''],
  ['index("abcb","b")', '1'],
  ['index("abcb","b",2)', '3'],
  ['index("abc","x")', '-1'],
  ['sprintf("%02d",$5+10)', '07'],
  ['sprintf("%03d",-5)', '-05'],
  ['sprintf("%3d|%-3d|%s",1,2,"x")', '  1|2  |x'],
  ['sprintf("%x %X %04x %o",255,255,10,8)', 'ff FF 000a 10'],
  ['sprintf("100%%")', '100%'],
  ['sprintf("%d")', '0'],
  ['sprintf("%f",1)', ''],
  ['sprintf("%x",-1)', ''],
  ['ord("a")', '97'],
  ['ord("")', '0'],
  ['chr(97)', 'a'],
  ['chr(-1)', ''],
  ['chr(55296)', ''],
  ['int("3.7")', '3'],
  ['abs(-4)', '4'],
  ['lc(substr("ABC",length("x")))."-".(1+1)', 'bc-2'],
  // not expressions
  ['', ''],
  ['1/0', ''],
  ['1%0', ''],
  ['1+', ''],
  ['*1', ''],
  ['1 2', ''],
  ['(1', ''],
  ['1)', ''],
  ['1?2', ''],
  ['1?2:', ''],
  ['1.5', ''],
  ['10.0.0.1', ''],
  ['bare', ''],
  ['$0', ''],
  ['$', ''],
  ['`id`', ''],
  ['lc()', ''],
  ['lc("a","b")', ''],
  ['lc', ''],
  ['lc("a",)', ''],
  ['system("id")', ''],
  ['"open', ''],
  ['1;2', ''],
  ['x=1', ''],
  ['9007199254740991+1', ''],
  ['9007199254740992', ''],
  ['-9007199254740991-1', ''],
  ['94906267*94906267', ''],
])('%s is %j', (text, expected) => {
  expect(compute(text)).toBe(expected);
});

test('a result longer than any value counts as failing', () => {
  const long = compileExpression('$1.$1');
  expect(long(['', 'x'.repeat(2048)])).toHaveLength(4096);
  expect(long(['', 'x'.repeat(2049)])).toBe('');
});

/** An expression as text, with its value computed apart from the parser. */
interface Sum {
  text: string;
  value: bigint | undefined;
}

const { sum } = fc.letrec<{ sum: Sum }>((tie) => ({
  sum: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.nat({ max: 999 }).map((value) => ({ text: String(value), value: BigInt(value) })),
    fc.tuple(tie('sum'), fc.constantFrom('+', '-', '*', '/', '%'), tie('sum')).map(([left, sign, right]) => ({
      text: `(${left.text}${sign}${right.text})`,
      value: combine(left.value, sign, right.value),
    })),
    tie('sum').map(({ text, value }) => ({
      text: `-(${text})`,
      value: exact(value === undefined ? undefined : -value),
    })),
  ),
}));

function combine(left: bigint | undefined, sign: string, right: bigint | undefined): bigint | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (sign === '+') return exact(left + right);
  if (sign === '-') return exact(left - right);
  if (sign === '*') return exact(left * right);
  if (right === 0n) return undefined;
  return sign === '/' ? left / right : left % right;
}

function exact(value: bigint | undefined): bigint | undefined {
  return value !== undefined && Number.isSafeInteger(Number(value)) ? value : undefined;
}

test('agrees with exact arithmetic on any expression', () => {
  fc.assert(
    fc.property(sum, ({ text, value }) => {
      expect(compute(text)).toBe(value === undefined ? '' : String(value));
    }),
    { numRuns: 1000 },
  );
});

test('without parentheses, products bind tighter than sums and both group from the left', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('+', '-', '*'), fc.nat({ max: 9 })), { maxLength: 10 });
  fc.assert(
    fc.property(fc.nat({ max: 9 }), steps, (first, rest) => {
      let total = 0;
      let product = first;
      for (const [sign, number] of rest) {
        if (sign === '*') product *= number;
        else {
          total += product;
          product = sign === '-' ? -number : number;
        }
      }
      const text = `${first}${rest.map(([sign, number]) => `${sign}${number}`).join('')}`;
      expect(compute(text)).toBe(String(total + product));
    }),
  );
});
