import { describe, expect, it } from 'vitest';
import { EscapeKeys } from '../../src/cli/consoles/escape-keys.ts';
import { PlainLines } from '../../src/cli/consoles/plain-lines.ts';
import { picture, roomFor } from '../../src/cli/consoles/tiles.ts';

const e = '\u0005';

/** What is typed, and what it means: text for the machine, or [an action]. */
const typed = [
  ['plain text', ['ls -l\r'], ['ls -l\r']],
  ['Ctrl-C', ['\u0003'], ['\u0003']],
  ['the end', [`${e}c.`], [['end']]],
  ['the end, key by key', [e, 'c', '.'], [['end']]],
  ['text before and behind', [`a${e}c?b`], ['a', ['help'], 'b']],
  ['a break', [`${e}cl0x`], [['break'], 'x']],
  ['half a break', [`${e}cl`, '0'], [['break']]],
  ['another break', [`${e}cl9`], [['unknown']]],
  ['Ctrl-E alone', [`${e}x`], [`${e}x`]],
  ['Ctrl-E twice', [`${e}${e}c.`], [e, ['end']]],
  ['Ctrl-E at the end of a piece', [e, 'x'], [`${e}x`]],
  ['what nothing begins with', [`${e}cz`], [['unknown']]],
  ['members of objects', [`${e}c_`], [['unknown']]],
  [
    'who, take, ask, give, look, reconnect, take over',
    [`${e}cw${e}cf${e}ca${e}cg${e}cs${e}co${e}ct`],
    [['who'], ['take'], ['ask'], ['give'], ['look'], ['reconnect'], ['takeover']],
  ],
] as const;

it.each(typed)('reads %s', (_name, pieces, meant) => {
  const keys = new EscapeKeys();
  const found = pieces.flatMap((piece) => keys.read(Buffer.from(piece)));
  expect(found.map((each) => (typeof each === 'string' ? [each] : each.toString()))).toEqual(meant);
});

/** What a machine prints, and the lines of its tile. */
const printed = [
  ['lines', ['a\r\nb\r\n'], ['a', 'b', '']],
  ['colours', ['\u001b[1;31mred\u001b[0m\r\n'], ['red', '']],
  ['a title', ['\u001b]0;evil\u0007text'], ['text']],
  ['a sequence in two pieces', ['a\u001b[', '31mb'], ['ab']],
  ['progress', ['10%\r20%\r30%'], ['30%']],
  ['control characters', ['a\u0007\u0008\u009bb'], ['ab']],
  ['a sequence without an end', [`a\u001b[${'9'.repeat(100)}`], [expect.not.stringContaining('\u001b')]],
] as const;

it.each(printed)('shows %s as text', (_name, pieces, lines) => {
  const plain = new PlainLines(100);
  for (const piece of pieces) plain.add(Buffer.from(piece));
  expect(plain.lines).toEqual(lines);
});

describe('tiles', () => {
  const tile = (node: string, text: string) => {
    const lines = new PlainLines(100);
    lines.add(Buffer.from(text));
    return { node, lines, state: 'connected' };
  };

  it('stand beside each other, and none is wider than its place', () => {
    const lines = picture([tile('n1', 'one'), tile('n2', `two ${'x'.repeat(500)}`), tile('n3', '東京\u202e')], 80, 24);
    expect(new Set(lines.slice(0, 11).map(({ length }) => length))).toEqual(new Set([79]));
    expect(lines[0]).toMatch(/^-- n1 \(connected\) -+\|-- n2 \(connected\) -+$/);
    expect(lines[1]).toMatch(/^one +\|two x+$/);
    expect(lines.join('\n')).toMatch(/^[ -~\n]*$/);
  });

  it('are no more than there is room for', () => {
    expect(roomFor(80, 24)).toBe(8);
    expect(roomFor(20, 3)).toBe(1);
  });
});
