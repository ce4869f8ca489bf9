import { createHash } from 'node:crypto';
import { inSlices, type Sliced } from '../core/slices.ts';
import { withoutUrlSecrets } from '../objects/secret-names.ts';

const longest = 2_048;
const half = longest / 2;
const wordsAtOnce = 256;

/** What the audit log keeps: a long text is cut in the middle, and its hash tells later whether a text is the one that was sent. */
export function shortened(text: string): string {
  if (text.length <= longest) return text;
  return cut(text.slice(0, half), text.length, createHash('sha256').update(text).digest('hex'), text.slice(-half));
}

/** The argument line of a command: its words, and what the audit log keeps of them. */
export interface Line {
  readonly words: readonly string[];
  readonly line: string;
}

export const lineOf = (words: readonly string[] | Sliced<readonly string[]>): Line | Promise<Line> =>
  'next' in words || words.length > wordsAtOnce ? inSlices(longLine(words)) : { words, line: shortened(joined(words)) };

/** Without passwords in URLs. As `join` does, which takes longer for the few words that most lines have. */
function joined(words: readonly string[]): string {
  let text = withoutUrlSecrets(words[0] ?? '');
  for (let i = 1; i < words.length; i++) text += ` ${withoutUrlSecrets(words[i]!)}`;
  return text;
}

function* longLine(making: readonly string[] | Sliced<readonly string[]>): Sliced<Line> {
  const words = 'next' in making ? yield* making : making;
  return { words, line: yield* shortenedWords(words) };
}

/** The same for many words: the whole text is never made. */
function* shortenedWords(words: readonly string[]): Sliced<string> {
  const hash = createHash('sha256');
  let [start, end, length] = ['', '', 0];
  for (let from = 0; from < words.length; from += wordsAtOnce) {
    const piece = `${from === 0 ? '' : ' '}${joined(words.slice(from, from + wordsAtOnce))}`;
    hash.update(piece);
    length += piece.length;
    if (start.length < half) start = `${start}${piece}`.slice(0, half);
    end = `${end}${piece}`.slice(-longest);
    yield;
  }
  return length <= longest ? end : cut(start, length, hash.digest('hex'), end.slice(-half));
}

const cut = (start: string, length: number, hash: string, end: string): string =>
  `${start} ... (${length} characters, SHA-256 ${hash}) ... ${end}`.toWellFormed();
