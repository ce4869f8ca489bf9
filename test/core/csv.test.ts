import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { csvHeader, csvLine, csvPlainLine, csvRecords } from '../../src/core/csv.ts';
import { textLines } from '../../src/admin/text-lines.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-csv-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

function read(content: string | Uint8Array) {
  const file = join(dir, 'table.csv');
  writeFileSync(file, content);
  return [...csvRecords(textLines(file))].map(({ line, fields, problem }) => ({ line, fields, problem }));
}

/** The rows below a header, each as [line, fields] or [line, problem]. */
const rows = (content: string | Uint8Array) =>
  read(content)
    .slice(1)
    .map(({ line, fields, problem }) => [line, problem ?? fields]);

describe('the lines that are written', () => {
  it.each([
    [['n1', 'all,compute', undefined, undefined, undefined], '"n1","all,compute",,,\n'],
    [['n1', '', undefined], '"n1","",\n'],
    [['say "hi"', '"'], '"say ""hi""",""""\n'],
  ])('%j', (fields, line) => expect(csvLine(fields)).toBe(line));

  it('have quotes only where they are needed for spreadsheets', () =>
    expect(csvPlainLine(['n1', 'a,b', 'say "hi"'])).toBe('n1,"a,b","say ""hi"""\n'));

  it('have a header that names the columns', () => expect(csvHeader(['node', 'ip'])).toBe('#node,ip\n'));
});

describe('the lines that are read', () => {
  it.each<[string, string, unknown]>([
    [
      'quoted values and unset columns',
      '"n1","all,compute",,,',
      [[2, ['n1', 'all,compute', undefined, undefined, undefined]]],
    ],
    ['a cleared column', '"n1","",', [[2, ['n1', '', undefined]]]],
    ['doubled quotes', '"say ""hi""",""""', [[2, ['say "hi"', '"']]]],
    ['values without quotes', 'n1,all', [[2, ['n1', 'all']]]],
    ['quotes inside values without quotes', 'a"b,c""d', [[2, ['a"b', 'c""d']]]],
    ['blanks around values', ' n1 ,\t"n2 " , ', [[2, ['n1', 'n2 ', undefined]]]],
    [
      'CRLF',
      '"n1","a"\r\nn2,b\r\nn3,\r\n',
      [
        [2, ['n1', 'a']],
        [3, ['n2', 'b']],
        [4, ['n3', undefined]],
      ],
    ],
    [
      'empty lines',
      '\n\n"n1"\n \t\n\r\n"n2"\n\n',
      [
        [4, ['n1']],
        [7, ['n2']],
      ],
    ],
    [
      'comment lines',
      '#"n1","unclosed\n"n2"\n#\n"#n3"',
      [
        [3, ['n2']],
        [5, ['#n3']],
      ],
    ],
    ['no line feed at the end', '"n1"', [[2, ['n1']]]],
    [
      'a value over several lines',
      '"n1","a\n#b\n\nc"\n"n2"',
      [
        [2, ['n1', 'a\n#b\n\nc']],
        [6, ['n2']],
      ],
    ],
    ['CRLF inside a value', '"a\r\nb"\r\n', [[2, ['a\r\nb']]]],
    [
      'text after a closing quote',
      '"a"b,c\n"d"',
      [
        [2, expect.stringMatching(/^Field 1 goes on/)],
        [3, ['d']],
      ],
    ],
    [
      'a quote that is not closed',
      '"n1"\n"n2","a\n"n3\n',
      [
        [2, ['n1']],
        [3, expect.stringMatching(/^Field 2 goes on/)],
      ],
    ],
    [
      'a last quote that is not closed',
      '"n1"\n"n2","a\nb\n',
      [
        [2, ['n1']],
        [3, expect.stringMatching(/field 2 is never closed/)],
      ],
    ],
  ])('%s', (_, text, expected) => expect(rows(`#node,groups\n${text}`)).toEqual(expected));

  it('may begin with a byte order mark and empty lines', () => {
    expect(read('\uFEFF\n#node, "groups"\r\n')).toEqual([{ line: 2, fields: ['node', 'groups'], problem: undefined }]);
  });

  it.each([
    ['', 1, /^The file is empty/],
    ['\n\n', 1, /^The file is empty/],
    ['node,groups\n"n1"', 1, /^The header is missing/],
    ['\n"n1"', 2, /^The header is missing/],
  ])('must have a header: %j', (text, line, problem) => {
    expect(read(text)).toEqual([{ line, fields: [], problem: expect.stringMatching(problem) }]);
  });

  it('are told with their text, where each field begins and where a quote is wrong', () => {
    const lines = ['#a', ' x, "y\nz" ,', '"a"b', 'c,"d'].join('\n').split('\n');
    const records = [...csvRecords(lines.map((text) => ({ text, isUtf8: true })))].slice(1);
    expect(records.map(({ text, starts, badQuote }) => [text, starts, badQuote])).toEqual([
      [' x, "y\nz" ,', [1, 4, 11], undefined],
      ['"a"b', [0], 0],
      ['c,"d', [], 2],
    ]);
  });

  it('must be UTF-8, and the others are still read', () => {
    const text = Buffer.from('#node\n"n1"\n"Z\xfcrich"\n"n3"\n"a\n\xfc"\n"n4"\n', 'latin1');
    expect(rows(text)).toEqual([
      [2, ['n1']],
      [3, 'The line is not UTF-8 text; convert the file first.'],
      [4, ['n3']],
      [5, 'The line 6 is not UTF-8 text; convert the file first.'],
      [7, ['n4']],
    ]);
  });

  it('may cross the blocks in which the file is read, wherever the border falls', () => {
    const long = 'ü'.repeat(700_000);
    const content = `#node\n"${long}"\n"x${long}\n${long}"\n"n3"\n`;
    expect(rows(content)).toEqual([
      [2, [long]],
      [3, [`x${long}\n${long}`]],
      [5, ['n3']],
    ]);
  });
});

it('what is written is read back as it was', () => {
  const field = fc.option(fc.string({ unit: fc.constantFrom('"', ',', '\n', '\r', '#', ' ', 'a', 'ü', '😀') }), {
    nil: undefined,
  });
  fc.assert(
    fc.property(fc.array(fc.array(field, { minLength: 2, maxLength: 4 }), { maxLength: 8 }), (records) => {
      const kept = records.map((fields) => ['key', ...fields]);
      const content = csvHeader(['node']) + kept.map(csvLine).join('');
      expect(
        read(content)
          .slice(1)
          .map(({ fields, problem }) => problem ?? fields),
      ).toEqual(kept);
    }),
  );
});
