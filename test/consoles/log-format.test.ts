import { expect, it } from 'vitest';
import {
  bareNewline,
  bytesOfLine,
  escapeOutput,
  noteLine,
  open,
  outputLine,
  parseLine,
  readable,
} from '../../src/consoles/log-format.ts';

const time = '2026-11-15T09:05:00.000Z';
const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** What a machine prints, what the log has, and what people read. */
const lines = [
  ['plain', 'Debian GNU/Linux 12', '', 'Debian GNU/Linux 12', 'Debian GNU/Linux 12'],
  ['a tab', 'a\tb', '', 'a\tb', 'a\tb'],
  ['UTF-8', 'grüße 東京', '', 'grüße 東京', 'grüße 東京'],
  ['a backslash', 'C:\\x1b[1m', '', 'C:\\\\x1b[1m', 'C:\\\\x1b[1m'],
  ['colours', '\u001b[1;31mpanic\u001b[0m now', '', '\\x1b[1;31mpanic\\x1b[0m now', 'panic now'],
  ['a title', '\u001b]0;evil\u0007text', '', '\\x1b]0;evil\\x07text', 'text'],
  ['a title that ends by ST', '\u001b]2;evil\u001b\\text', '', '\\x1b]2;evil\\x1b\\\\text', 'text'],
  ['a title without an end', '\u001b]0;evil', '', '\\x1b]0;evil', '0;evil'],
  ['a bell', 'ding\u0007', '', 'ding\\x07', 'ding\\x07'],
  ['carriage returns within', '10%\r20%', '', '10%\\r20%', '10%\\r20%'],
  ['several carriage returns', 'text\r\r', '', 'text\\r\\r', 'text'],
  ['turned text', 'a\u202eb', '', 'a\\u{202e}b', 'a\\u{202e}b'],
  ['a newline alone', 'text', bareNewline, 'text', 'text'],
  ['a prompt', 'login: ', open, 'login: ', 'login: '],
  ['nothing', '', '', '', ''],
  ['what looks like a note', '# connected', '', '# connected', '# connected'],
  ['what looks like a note in the log', '\\# connected', '', '\\\\# connected', '\\\\# connected'],
] as const;

it.each(lines)('%s is logged so that it can neither draw nor get lost', (_name, printed, end, logged, read) => {
  const escaped = escapeOutput(latin1(printed));
  expect(escaped).toBe(logged);
  const line = parseLine(outputLine(time, escaped, end).slice(0, -1))!;
  expect(line).toMatchObject({ time: Date.parse(time), isNote: false });
  expect(readable(line)).toBe(read);
  const ending = end === open ? '' : end === bareNewline ? '\n' : '\r\n';
  expect(bytesOfLine(line)).toEqual(Buffer.from(printed + ending));
});

it('keeps bytes that are no text', () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i).filter((byte) => byte !== 10));
  const escaped = escapeOutput(bytes.toString('latin1'));
  expect(escaped).toMatch(/^[\t -~]*$/);
  const line = parseLine(outputLine(time, escaped, open).slice(0, -1))!;
  expect(bytesOfLine(line)).toEqual(bytes);
});

it('tells notes of its own from output', () => {
  const line = parseLine(noteLine(time, 'connected: SOL\n10.0.0.5').slice(0, -1))!;
  expect(line).toEqual({ time: Date.parse(time), text: 'connected: SOL 10.0.0.5', isNote: true });
  expect(readable(line)).toBe('-- connected: SOL 10.0.0.5');
  expect(bytesOfLine(line)).toHaveLength(0);
});

it.each(['', 'half a li', '2026-11-15T09:05', 'x'.repeat(100)])('passes over a broken line: %j', (line) => {
  expect(parseLine(line)).toBeUndefined();
});
