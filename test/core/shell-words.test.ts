import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkCommand, commandLine, inQuotes, quoteWord, withEnvironment } from '../../src/core/shell-words.ts';

describe('words for a POSIX shell', () => {
  it.each([
    ['plain', 'plain'],
    ['/etc/hosts', '/etc/hosts'],
    ['', "''"],
    ['two words', "'two words'"],
    ["it's", "'it'\\''s'"],
    ['$(reboot)', "'$(reboot)'"],
    ['`reboot`', "'`reboot`'"],
    ['a\nb', "'a\nb'"],
    ['~root', "'~root'"],
    ['*', "'*'"],
    ['!x', "'!x'"],
    ['#x', "'#x'"],
    ['größe', "'größe'"],
  ])('%j is written %j', (word, written) => {
    expect(quoteWord(word)).toBe(written);
  });

  it('writes quotes also around what needs none where a format wants them', () => {
    expect(inQuotes('plain')).toBe("'plain'");
    expect(inQuotes("it's")).toBe("'it'\\''s'");
  });

  it('keeps the first word from being an assignment, a keyword or an option of the shell', () => {
    expect(commandLine(['A=1', 'x'])).toBe("'A=1' x");
    expect(commandLine(['if'])).toBe("'if'");
  });

  it.each([
    ['an argument', () => commandLine(['a', 'b\0c'])],
    ['a program', () => commandLine(['\0'])],
    ['a value', () => withEnvironment({ A: 'x\0' }, 'true')],
    ['a command', () => checkCommand('echo \0')],
  ])('refuses a null byte in %s', (_what, work) => {
    expect(work).toThrow('null byte');
  });

  it('refuses text that would not arrive as it was sent', () => {
    expect(() => quoteWord('\ud800')).toThrow('Unicode');
    expect(() => checkCommand('x'.repeat(128 * 1024))).toThrow('131072 bytes long');
  });

  it.each(['', '1A', 'A B', 'A=B', 'A;reboot', '$A', 'Ä', 'A\n', '__proto__ x'])(
    'refuses %j as the name of a variable',
    (name) => {
      expect(() => withEnvironment({ [name]: '1' }, 'true')).toThrow('not the name of a variable');
    },
  );

  // What sh there is differs from machine to machine.
  it.each(['sh', 'bash'])('hands every argument unchanged to a program under %s', (shell) => {
    const word = fc.string({ unit: 'grapheme', maxLength: 30 }).filter((text) => !text.includes('\0'));
    fc.assert(
      // Many lines for one shell: to start one takes longer than all they do.
      fc.property(fc.array(fc.array(word, { minLength: 1, maxLength: 8 }), { minLength: 20 }), (lines) => {
        const script = lines.map((words) => commandLine(['printf', '%s\\0', ...words])).join('\n');
        const output = execFileSync(shell, ['-c', script], { encoding: 'utf8' });
        expect(output.split('\0').slice(0, -1)).toEqual(lines.flat());
      }),
      { numRuns: 5 },
    );
  });
});
