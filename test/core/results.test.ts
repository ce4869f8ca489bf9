import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../src/core/errors.ts';
import { nodeFailure, outputLines } from '../../src/core/results.ts';

it('tells the sentences of a fault, and what kind it is where that counts', () => {
  expect(nodeFailure('n1', new Fault('invalid', ['one.', 'two.']))).toEqual({ node: 'n1', error: 'one. Two.' });
  expect(nodeFailure('n1', new Fault('deadline', 'late.'))).toEqual({ node: 'n1', error: 'late.', kind: 'deadline' });
});

it('cuts what a node made endless', () => {
  const { error } = nodeFailure('n1', new Fault('invalid', `refused: ${'x'.repeat(1_000_000)}`));
  expect(error).toMatch(/^refused: x+\.\.\.$/);
  expect(error.length).toBeLessThan(10_000);
});

const lines = (stdout: string): string[] => outputLines({ stdout, stderr: '' });

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
