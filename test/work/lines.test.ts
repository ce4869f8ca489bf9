import { describe, expect, test } from 'vitest';
import { LineSplitter, linesOf } from '../../src/work/program.ts';

describe('lines of a program', () => {
  test.each<[title: string, chunks: (string | Buffer)[], lines: string[]]>([
    ['end with the text', ['one\ntwo'], ['one', 'two']],
    ['may be empty', ['a\n\nb\n'], ['a', '', 'b']],
    ['end by a return too, as progress bars write it', ['10%\r20%\r', '\n30%\r\n', 'x'], ['10%', '20%', '30%', 'x']],
    ['come in any pieces', ['a', 'b\r', '\nc', 'd\n'], ['ab', 'cd']],
    ['keep characters that were cut in two', [Buffer.from([0xc3]), Buffer.from([0xa4, 0x0a])], ['ä']],
    ['show what is no text as such', [Buffer.from([0xff, 0x41, 0x0a])], ['\u{fffd}A']],
    ['have no colours', ['\u{1b}[1;31mred\u{1b}[0m [ok]\n'], ['red [ok]']],
    ['have no control characters', ['a\u{0}b\u{7}c\u{9b}d\te\u{202e}f\u{2028}g\n'], ['a?b?c?d e?f?g']],
  ])('%s', (_title, chunks, lines) => {
    const taken: string[] = [];
    const splitter = new LineSplitter((line) => taken.push(line));
    for (const chunk of chunks) splitter.add(chunk);
    splitter.end();
    expect(taken).toEqual(lines);
  });

  test('are cut where they are too long, and the next one is whole', () => {
    const [first, second, ...more] = linesOf(`${'x'.repeat(1_000_000)}\nnext`);
    expect(first).toBe(`${'x'.repeat(4_096)}...`);
    expect([second, more]).toEqual(['next', []]);
  });

  test('take no memory while they have no end', () => {
    const taken: string[] = [];
    const splitter = new LineSplitter((line) => taken.push(line));
    const piece = Buffer.alloc(1 << 20, 'y');
    for (let i = 0; i < 200; i++) splitter.add(piece);
    splitter.end();
    expect(taken.map((line) => line.length)).toEqual([4_099]);
  });
});
