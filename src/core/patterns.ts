import { RE2JS } from 're2js';
import { Fault } from './errors.ts';

/** A pattern that came from a user; matched in time linear in the text, whatever the pattern. */
export interface Pattern {
  test(text: string): boolean;
  /** The first match with its groups (index 0 is the whole match), or undefined. */
  exec(text: string): { index: number; groups: (string | undefined)[] } | undefined;
}

export const maximumPatternLength = 1024;

/** Compiles Perl-style text with a linear-time engine; a broken pattern is a Fault that names `where`. */
export function compilePattern(source: string, where: string): Pattern {
  if (source.length > maximumPatternLength) {
    throw new Fault('invalid', `${where}: the pattern is longer than ${maximumPatternLength} characters.`);
  }
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(source);
  } catch (error) {
    throw new Fault('invalid', `${where}: "${source}" is not a valid pattern: ${(error as Error).message}.`);
  }
  return {
    test: (text) => compiled.test(text),
    exec(text) {
      const matcher = compiled.matcher(text);
      if (!matcher.find()) return undefined;
      const groups: (string | undefined)[] = [];
      for (let i = 0; i <= matcher.groupCount(); i++) groups.push(matcher.group(i) ?? undefined);
      return { index: matcher.start(), groups };
    },
  };
}
