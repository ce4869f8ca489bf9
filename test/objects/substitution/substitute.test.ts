import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPattern, substitute } from '../../../src/objects/substitution/index.ts';

const rows: [node: string, stored: string, effective: string | undefined][] = [
  ['node5', String.raw`/\z/-bmc/`, 'node5-bmc'],
  ['node5', '/node/bmc/', 'bmc5'],
  ['node5', String.raw`/node(\d+)/10.1.0.$1/`, '10.1.0.$1'],
  ['node5', '/foo/bar/', 'node5'],
  ['node5', String.raw`|node(\d+)|10.0.0.($1+100)|`, '10.0.0.105'],
  ['node005', String.raw`|node(\d+)|10.0.0.($1+0)|`, '10.0.0.5'],
  ['node12', String.raw`|\D+(\d+)|10.0.(($1-1)/10+1).(($1-1)%10+1)|`, '10.0.2.2'],
  ['node5', '|10.0.0.($1+100)|', '10.0.0.105'],
  ['r1n12', '|10.($1).0.($2)|', '10.1.0.12'],
  ['rack02node13', '|10.0.($1+0).($2+0)|', '10.0.2.13'],
  ['rack02node13', '|10.0.$1.$2|', '10.0.$1.$2'],
  ['node5', '|node|bmc|', 'bmc5'],
  ['node5', String.raw`|\z|-ipmi|`, 'node5-ipmi'],
  ['node5', String.raw`|node(\d+)|switch(($1-1)/4+1)|`, 'switch2'],
  ['node5', String.raw`|node(\d+)|($1%2?"odd":"even")|`, 'odd'],
  ['n250', String.raw`|n(\d+)|(ipadd(10,1,0,10,$1,0,0))|`, '10.1.1.4'],
  ['n250', String.raw`|n(\d+)|(ipadd(10,1,0,10,$1,1,1))|`, '10.1.1.6'],
  ['r2k3c4n5', String.raw`|r(\d+)k(\d+)c(\d+)n(\d+)|n(dim2idx($1,10,$2,8,$3,8,$4))|`, 'n797'],
  ['n10', String.raw`|n(\d+)|(skip($1,"3:2,6"))|`, '7'],
  ['nodea', String.raw`|node(\w)|10.0.0.(a2idx("$1"))|`, '10.0.0.1'],
  ['node100', String.raw`|node(\d+)|10.0.0.($1+200)|`, '10.0.0.300'],
  ['login', String.raw`|node(\d+)|10.0.0.($1+0)|`, 'login'],
  ['login', '|10.0.0.($1+1)|', '10.0.0.1'],
  ['node5', '|^.*$||', undefined],
  ['node5', '/node/b/mc/', '/node/b/mc/'],
  ['node5', String.raw`|node(\d+)|eth0!192.168.1.($1+10),eth1!10.0.0.($1+20)|`, 'eth0!192.168.1.15,eth1!10.0.0.25'],
  // the name around the match stays
  ['xnode5y', String.raw`|node(\d+)|<($1+1)>|`, 'x<6>y'],
  ['node5', '//pre-/', 'pre-node5'],
  // digit runs of the short form
  ['node000', '|($1)|', '0'],
  ['r007n030', '|($1)-($2)-($3)|', '7-30-'],
  ['r0n15', '|($1).($2)|', '0.15'],
  // a capture is text until it is computed with
  ['node005', String.raw`|node(\d+)|n($1)|`, 'n005'],
  ['node5', String.raw`|node(\d+)(x)?|($2)($1)|`, '5'],
  // only the first bar ends the pattern
  ['node5', String.raw`|node(\d+)|10.0.0.($1)|10.1.0.($1)|`, '10.0.0.5|10.1.0.5'],
  ['node0', String.raw`|node(\d+)|($1||9)|`, '9'],
  ['node5', '||', undefined],
  ['node5', '|||', 'node5'],
  // parentheses
  ['node5', '|a(b|', 'a(b'],
  ['node5', '|a)b($1+1)(|', 'a)b6('],
  ['node5', '|(($1+1)|', '(6'],
  ['node5', '|()|', undefined],
  ['node5', '|x(("("."$1".")")."+1")|', 'x5+1'],
  ['node5', '|("(".$1."*2)")|', '10'],
  ['node5', '|("(").(")")|', undefined],
  // failing expressions
  ['node5', '|a($1/0)b|', 'ab'],
  ['node5', '|a($1 $1)b($1)|', 'ab5'],
  ['node5', '|a(system("id"))b|', 'ab'],
  ['node5', '|(1/0)|', undefined],
  // broken patterns
  ['node5', '|node(|x|', 'node5'],
  ['node5', '/no[de/x/', 'node5'],
  ['node5', String.raw`/(a)\1/x/`, 'node5'],
  // spellings of Perl
  ['node5', String.raw`/\Z/-bmc/`, 'node5-bmc'],
  ['node5', String.raw`|\Anode(\d+)\Z|x($1)|`, 'x5'],
  ['node5', String.raw`|(?#the number)(?^:\w)+?(\d+)|x($1)|`, 'x5'],
  ['node5', String.raw`|[^\h]+$|x|`, 'x'],
  ['nodé5', String.raw`|^\D+(\d)|x($1)|`, 'x5'],
  // patterns are small: those that are not are broken ones, and the name stays
  ['n1', String.raw`|^n{1,250}(\d)$|($1)|`, '1'],
  ['n1', String.raw`|^n{1,900}(\d)$|($1)|`, 'n1'],
  ['n1', String.raw`|^\pL{1,6}(\d)$|($1)|`, '1'],
  ['n1', String.raw`|^\pL{1,7}(\d)$|($1)|`, 'n1'],
];

test.each(rows)('for %s the value %s is %s', (node, stored, effective) => {
  expect(substitute(stored, node)).toBe(effective);
});

test.each([
  ['/a/b/', true],
  ['///', true],
  ['|a|b|', true],
  ['|a|', true],
  ['||', true],
  ['|', false],
  ['|a', false],
  ['a|b|', false],
  ['/a/b/c/', false],
  ['/install/x', false],
  ['//', false],
  ['10.0.0.1', false],
  ['', false],
])('%j is a pattern: %s', (stored, expected) => {
  expect(isPattern(stored)).toBe(expected);
});

describe('for any input', () => {
  const grammar = String.raw`| / ( ) $1 ${'${2}'} " ' \ + - * % . ? : , ! < == && || 0 7 99 eq %d node \d+ (\d+) [ ] { ^ $`;
  const piece = fc.constantFrom(' ', ...grammar.split(' '), 'a2idx(', 'ipadd(', 'sprintf(', 'substr(');
  const inside = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
  const stored = fc.oneof(
    inside,
    inside.map((text) => `|${text}|`),
    inside.map((text) => `|node(\\d+)|${text}|`),
    inside.map((text) => `/${text}/x/`),
    fc.string(),
  );

  test('substitution returns text or nothing', () => {
    fc.assert(
      fc.property(stored, fc.constantFrom('node12', 'r1n2', 'login', 'a(1)b'), (value, node) => {
        const result = substitute(value, node);
        expect(result === undefined || result.length > 0).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  test('plain text comes back unchanged', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string(), (value, node) => {
        fc.pre(!isPattern(value));
        expect(substitute(value, node)).toBe(value);
      }),
    );
  });

  test('a second call gives the same as the first', () => {
    fc.assert(
      fc.property(stored, (value) => {
        expect(substitute(value, 'node12')).toBe(substitute(value, 'node12'));
      }),
    );
  });
});

const n = 20_000;

/** An expression whose result is an expression again, so many times. */
function quoted(times: number): string {
  return times === 0 ? '(1)' : `('${quoted(times - 1).replace(/[\\']/g, '\\$&')}')`;
}

const hostile: [what: string, stored: string, effective: string | undefined][] = [
  ['nesting deeper than any use', `|${'('.repeat(n)}$1${')'.repeat(n)}|`, undefined],
  ['nesting that is never closed', `|${'('.repeat(n)}|`, '('.repeat(n)],
  ['nesting that is never opened', `|x${')'.repeat(n)}|`, `x${')'.repeat(n)}`],
  ['101 levels', `|x${'('.repeat(101)}$1${')'.repeat(101)}|`, 'x'],
  ['a chain of signs', `|x(${'-'.repeat(n)}1)|`, 'x'],
  ['a chain of sums', `|x(1${'+1'.repeat(n)})|`, 'x'],
  ['a chain of choices', `|x(${'1?'.repeat(300)}1${':1'.repeat(300)})|`, 'x'],
  ['many expressions', `|${'($1)'.repeat(n)}|`, undefined],
  ['wide padding', `|x(${Array(20).fill('sprintf("%999d",1)').join('.')})|`, 'x'],
  ['a product out of range', '|x(99999999*99999999*99999999)|', 'x'],
  ['a literal out of range', '|x(99999999999999999999)|', 'x'],
  ['a text out of range', '|x("99999999999999999999"+1)|', 'x'],
  ['a result that is evaluated seven times more', `|${quoted(7)}|`, '1'],
  ['a result that is evaluated ever again', `|x${quoted(8)}|`, undefined],
  ['a pattern longer than any use', `/${'n'.repeat(1100)}/x/`, 'node5'],
  ['a string never closed', `|x("${'a'.repeat(n)})|`, 'x'],
  ['a pattern that makes others step back', `|(${'a?'.repeat(200)}${'a'.repeat(200)})*$|x|`, 'node5x'],
  ['names of object members', '|x(constructor(1))(__proto__(1))(toString())|', 'x'],
];

test.each(hostile)('%s ends at once', (_what, stored, effective) => {
  expect(substitute(stored, 'node5')).toBe(effective);
});

test('a value is computed for all nodes', () => {
  const stored = String.raw`|node(\d+)|10.0.(($1-1)/254).(($1-1)%254+1)|`;
  const numbers = Array.from({ length: 100_000 }, (_, i) => i + 1);
  const expected = (i: number) => `10.0.${Math.floor((i - 1) / 254)}.${((i - 1) % 254) + 1}`;
  expect(numbers.filter((i) => substitute(stored, `node${i}`) !== expected(i))).toEqual([]);
});

test('values beyond what is kept are still computed', () => {
  for (let i = 0; i < 2100; i++) expect(substitute(`|${i}-($1+${i})|`, 'node1')).toBe(`${i}-${i + 1}`);
  expect(substitute('|0-($1+0)|', 'node1')).toBe('0-1');
});
