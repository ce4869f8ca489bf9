import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NodeOutput } from '../../../src/services/remote/node-output.ts';

const lines = (stdout: string): string[] => new NodeOutput({ stdout, stderr: '' }).lines();

describe('lines of an output', () => {
  it.each<[string, string[]]>([
    ['', []],
    ['a', ['a']],
    ['a\n', ['a']],
    ['\n', ['']],
    ['\r\n', ['']],
    ['a\r\n\r', ['a', '']],
    ['a\r\r\nb\rc\r', ['a\r', 'b\rc']],
    ['a\n\nb\n\n', ['a', '', 'b', '']],
  ])('%j', (text, expected) => expect(lines(text)).toEqual(expected));

  it('are what stands between the ends of lines, each without one carriage return at its end', () => {
    const text = fc.string({ unit: fc.constantFrom('a', '\r', '\n'), minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(text, (stdout) => {
        const pieces = (stdout.endsWith('\n') ? stdout.slice(0, -1) : stdout).split('\n');
        expect(lines(stdout)).toEqual(pieces.map((piece) => piece.replace(/\r$/, '')));
      }),
    );
  });
});
