/**
 * A log has a line for each line of output: the time, a blank, and the output. What a terminal would obey stands there as \xHH, \r or
 * \u{HEX}, and a backslash as two, so a log can be read with any program, and the bytes can be made again. A line ends as most machines
 * end it (CR LF), or as one of the `ends` says.
 */
export interface LogLine {
  /** Milliseconds. */
  readonly time: number;
  /** Escaped output, or what muster notes itself. */
  readonly text: string;
  /** muster's own note, no output. */
  readonly isNote: boolean;
}

const timeLength = 24;
/** The line goes on in the next one. */
export const open = '\\c';
/** It ended without a carriage return. */
export const bareNewline = '\\n';
/** Output has no backslash that is alone, so it can never begin like this. */
const noteMark = '\\# ';

const plainText = /^[ -[\]-~]*$/;
/** Also what turns the direction of text, and separators of lines. */
const unfit = /[\p{Cc}\p{Cf}\\\u2028\u2029]/gu;
const unfitBytes = /[\p{Cc}\u00a0-\u00ff\\]/gu;

function escaped(character: string): string {
  if (character === '\\') return '\\\\';
  if (character === '\r') return '\\r';
  if (character === '\t') return '\t';
  const code = character.codePointAt(0)!;
  return code < 0x80 ? byteText(code) : `\\u{${code.toString(16)}}`;
}

const byteText = (code: number): string => `\\x${code.toString(16).padStart(2, '0')}`;

/** Of bytes as Latin-1 text: what is UTF-8 stays readable. */
export function escapeOutput(latin1: string): string {
  if (plainText.test(latin1)) return latin1;
  const bytes = Buffer.from(latin1, 'latin1');
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd')) return text.replaceAll(unfit, escaped);
  return latin1.replaceAll(unfitBytes, (character) =>
    character < '\u0080' ? escaped(character) : byteText(character.charCodeAt(0)),
  );
}

export const outputLine = (time: string, escapedText: string, end: string): string => `${time} ${escapedText}${end}\n`;
export const noteLine = (time: string, note: string): string => `${time} ${noteMark}${note.replaceAll(unfit, ' ')}\n`;

/** Undefined: it is none, such as one that was cut when the machine stopped. */
export function parseLine(line: string): LogLine | undefined {
  const time = Date.parse(line.slice(0, timeLength));
  if (Number.isNaN(time) || line[timeLength] !== ' ') return undefined;
  const text = line.slice(timeLength + 1);
  const isNote = text.startsWith(noteMark);
  return { time, text: isNote ? text.slice(noteMark.length) : text, isNote };
}

const escape = /\\(?:x([0-9a-f]{2})|u\{([0-9a-f]{1,6})\}|([\\rcn]))/g;

/** The bytes that the machine sent. */
export function bytesOfLine({ text, isNote }: LogLine): Buffer {
  if (isNote) return Buffer.alloc(0);
  const pieces: Buffer[] = [];
  let at = 0;
  let end = '\r\n';
  for (const match of text.matchAll(escape)) {
    pieces.push(Buffer.from(text.slice(at, match.index)));
    at = match.index + match[0].length;
    const [, byte, code, letter] = match;
    if (byte !== undefined) pieces.push(Buffer.from([Number.parseInt(byte, 16)]));
    else if (code !== undefined) pieces.push(Buffer.from(String.fromCodePoint(Number.parseInt(code, 16))));
    else if (letter === 'c') end = '';
    else if (letter === 'n') end = '\n';
    else pieces.push(Buffer.from(letter === 'r' ? '\r' : '\\'));
  }
  pieces.push(Buffer.from(text.slice(at) + end));
  return Buffer.concat(pieces);
}

/** A backslash of the machine's own, or a sequence of terminals (CSI, OSC and others), which a reader of text has no use for. Bounded, so that no line takes long. */
const sequences =
  /(\\\\)|\\x1b(?:\[[0-?]{0,32}[ -/]{0,4}[@-~]|\](?:[^\\\n]|\\[^x]){0,256}(?:\\x07|\\x1b\\\\)|[ -/]{0,4}[0-~])/g;

/** A line as people read it: without what only a terminal understands. Nothing in it can draw. */
export function readable({ text, isNote }: LogLine): string {
  if (isNote) return `-- ${text}`;
  if (!text.includes('\\')) return text;
  return text
    .replaceAll(sequences, (_match, own: string | undefined) => own ?? '')
    .replace(/\\[cn]$/, '')
    .replace(/(?:\\r)+$/, '');
}
