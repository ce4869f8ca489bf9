import { expect, it } from 'vitest';
import { LineCutter, longestPiece } from '../../src/consoles/line-cutter.ts';
import { Tail } from '../../src/consoles/tail.ts';

function cut(...pieces: readonly string[]): [string, string][] {
  const lines: [string, string][] = [];
  const cutter = new LineCutter((text, end) => lines.push([text, end]));
  for (const piece of pieces) cutter.add(Buffer.from(piece));
  cutter.flush();
  return lines;
}

const cases = [
  [
    'lines of one piece',
    ['a\r\nb\r\n'],
    [
      ['a', ''],
      ['b', ''],
    ],
  ],
  ['a line in many pieces', ['a', 'b', '\r', '\n'], [['ab', '']]],
  [
    'newlines alone',
    ['a\nb\n'],
    [
      ['a', '\\n'],
      ['b', '\\n'],
    ],
  ],
  [
    'a prompt',
    ['a\r\nlogin: '],
    [
      ['a', ''],
      ['login: ', '\\c'],
    ],
  ],
  [
    'empty lines',
    ['\r\n\n'],
    [
      ['', ''],
      ['', '\\n'],
    ],
  ],
  ['nothing', [], []],
] as const;

it.each(cases)('cuts %s', (_name, pieces, lines) => {
  expect(cut(...pieces)).toEqual(lines);
});

it('bounds lines that do not end, and loses nothing of them', () => {
  const text = 'x'.repeat(3 * longestPiece + 10);
  for (const lines of [cut(text), cut(`${text}\n`), cut(...text.match(/.{1,1000}/g)!)]) {
    expect(Math.max(...lines.map(([line]) => line.length))).toBe(longestPiece);
    expect(lines.map(([line]) => line).join('')).toBe(text);
  }
});

it('remembers the last bytes, from the beginning of a line', () => {
  const tail = new Tail(1_024);
  expect(tail.isEmpty).toBe(true);
  for (let i = 0; i < 500; i++) tail.add(Buffer.from(`line ${i}\n`));
  const lines = tail.bytes.toString().split('\n');
  expect(tail.bytes.length).toBeLessThanOrEqual(1_024);
  expect(tail.bytes.length).toBeGreaterThan(400);
  expect(lines.at(-2)).toBe('line 499');
  expect(lines[0]).toMatch(/^line \d+$/);
  tail.add(Buffer.alloc(100_000, 'y'));
  expect(tail.bytes.length).toBeLessThanOrEqual(1_024);
});
