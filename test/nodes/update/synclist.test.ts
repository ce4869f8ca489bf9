import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { parseSynclist, type SyncRule } from '../../../src/nodes/update/synclist.ts';

const parse = (text: string) => parseSynclist(text, 'list');

/** A rule in one line: `sources > destination`, `>>` for a directory, `@range`. */
const short = ({ sources, destination, intoDirectory, range }: SyncRule): string =>
  `${sources.join(' ')} ${intoDirectory ? '>>' : '>'} ${destination}${range === undefined ? '' : ` @${range}`}`;

describe('a line of a synclist', () => {
  it.each([
    ['/a -> /b', '/a > /b'],
    ['/a->/b', '/a > /b'],
    ['  /a   ->   /b  ', '/a > /b'],
    ['/a\t->\t/b\r', '/a > /b'],
    ['/a -> /b/', '/a >> /b'],
    ['/a -> /', '/a >> /'],
    ['/a/b/ -> /c', '/a/b > /c'],
    ['/a /b -> /c', '/a /b >> /c'],
    ['/a/* -> /c', '/a/* >> /c'],
    ['/a/?.conf -> /c', '/a/?.conf >> /c'],
    ['/a -> (n1-n3,@rack1) /b', '/a > /b @n1-n3,@rack1'],
    ['/a -> (n1)/b', '/a > /b @n1'],
    ['/a -> (/n(1|2),n3) /b(c)', '/a > /b(c) @/n(1|2),n3'],
    ['/a -> (n1) /b/', '/a >> /b @n1'],
    ['/a\'$(x)"; -> /b`y`', '/a\'$(x)"; > /b`y`'],
  ])('%j is %s', (line, expected) => {
    expect(parse(line).copies.map(short)).toEqual([expected]);
  });

  it.each(['', '   ', '#', '# /a -> /b', '\t#x'])('%j says nothing', (line) => {
    expect(parse(line)).toEqual({ copies: [], appends: [], merges: [], scripts: [], scriptsAlways: [] });
  });

  it.each([
    ['/a', 'expected "source -> destination"'],
    ['-> /b', 'nothing before the arrow'],
    ['/a ->', 'must begin with a slash'],
    ['a -> /b', 'a must begin with a slash'],
    ['/a -> () /b', 'the node range is empty'],
    ['/a -> (n1 /b', 'is not closed'],
    ['/a -> /b\0c', 'contains a control character'],
    ['/a\x1b -> /b', 'contains a control character'],
    ['/a -> b', 'b must begin with a slash'],
    ['/a -> /b /c', 'must be one path'],
    ['/a -> /b -> /c', 'must be one path'],
    ['/a/../../etc/shadow -> /b', 'must not go up'],
    ['/a -> /b/../c', 'must not go up'],
    ['DELETE:', 'there is no clause DELETE:'],
  ])('%j is refused: %s', (line, message) => {
    expect(() => parse(`\n${line}`)).toThrow(message);
    expect(() => parse(`\n${line}`)).toThrow('list, line 2');
  });
});

describe('clauses of a synclist', () => {
  const list = parse(
    [
      '/a -> /a',
      'APPEND:',
      '/x -> /etc/hosts',
      '/y -> (n1) /etc/hosts',
      'MERGE:',
      '# accounts',
      '/p -> /etc/passwd',
      'EXECUTE:',
      '/a.post /b.post',
      'EXECUTEALWAYS: /c',
      '/d.post',
    ].join('\n'),
  );

  it('go on until the next begins', () => {
    expect(list.copies.map(short)).toEqual(['/a > /a']);
    expect(list.appends.map(short)).toEqual(['/x > /etc/hosts', '/y > /etc/hosts @n1']);
    expect(list.merges.map(short)).toEqual(['/p > /etc/passwd']);
    expect(list.scripts.map(({ path }) => path)).toEqual(['/a.post', '/b.post']);
    expect(list.scriptsAlways).toEqual([
      { path: '/c', where: 'list, line 10' },
      { path: '/d.post', where: 'list, line 11' },
    ]);
  });

  it.each([
    ['MERGE:\n/p -> /etc/hosts', 'only /etc/passwd, /etc/shadow, /etc/group can be merged'],
    ['MERGE:\n/p /q -> /etc/passwd', 'one file goes into one file'],
    ['APPEND:\n/p/* -> /etc/hosts', 'one file goes into one file'],
    ['APPEND:\n/p -> /etc/', 'one file goes into one file'],
    ['EXECUTE:\n/a', 'does not end in .post'],
    ['EXECUTE:\n/a.post -> /b.post', 'only names of scripts'],
    ['EXECUTEALWAYS:\na', 'must begin with a slash'],
    ['EXECUTEALWAYS:\n/a/*', 'without wildcards'],
  ])('%j is refused: %s', (text, message) => {
    expect(() => parse(text)).toThrow(message);
  });
});

it('any text is a list or a complaint that names the line', () => {
  const piece = fc.constantFrom(
    '/a',
    '/b/*',
    '->',
    '(n1)',
    'APPEND:',
    'EXECUTE:',
    'MERGE:',
    '#',
    ' ',
    '\n',
    '\0',
    '..',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(piece).map((pieces) => pieces.join('')),
      ),
      (text) => {
        try {
          const { copies, appends, merges } = parse(text);
          for (const { sources, destination } of [...copies, ...appends, ...merges])
            for (const path of [...sources, destination]) expect(path).toMatch(/^\//);
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
          expect((error as Fault).message).toMatch(/^list, line \d+: /);
        }
      },
    ),
  );
});
