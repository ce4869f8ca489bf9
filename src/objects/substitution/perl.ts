import { Fault } from '../../core/errors.ts';
import { compilePattern, maximumPatternLength, type Pattern } from '../../core/patterns.ts';
import { compileSimple } from './simple.ts';

/** Quoted text, one escape, one bracket class, a comment, or a group with default flags. */
const piece = /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]|\(\?#[^)]*\)|\(\?\^:/g;

/** Names hold no line breaks, so before-the-last-newline and the very end are one place. */
const spellings: Record<string, string> = {
  '\\Z': '\\z',
  '\\h': '[ \\t]',
  '\\H': '[^ \\t]',
  '\\N': '.',
  '(?^:': '(?:',
};

/** Rewrites the Perl spellings that the linear engine does not know. */
export function translate(source: string): string {
  return source.replace(piece, (text) => {
    if (text.startsWith('(?#')) return '';
    if (text.startsWith('[')) return text.replace(/\\[\s\S]/g, (escape) => (escape === '\\h' ? ' \\t' : escape));
    return spellings[text] ?? text;
  });
}

/** The pattern of a value, to be matched against node names; undefined when it is broken. */
export function compileNamePattern(source: string): Pattern | undefined {
  if (source.length > maximumPatternLength) return undefined;
  const translated = translate(source);
  try {
    const pattern = compilePattern(translated, 'Value pattern');
    return compileSimple(translated, pattern) ?? pattern;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}
