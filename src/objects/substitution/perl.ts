import { Fault } from '../../core/errors.ts';
import { compilePattern, maximumPatternLength, type Pattern, PatternAllowance } from '../../core/patterns.ts';
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

/** Values are made anew for every node, so their patterns must be small; then every name is matched, whatever it costs. */
const limits = { steps: 1_000, ranges: 5_000, work: Number.POSITIVE_INFINITY };

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
    const allowance = new PatternAllowance(limits);
    const pattern = compilePattern(translated, 'Value pattern', allowance);
    return compileSimple(translated, pattern) ?? pattern;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}
