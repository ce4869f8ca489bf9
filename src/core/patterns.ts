import { RE2JS } from 're2js';
import { Fault } from './errors.ts';
import { PatternAllowance } from './pattern-allowance.ts';
import { patternSize } from './pattern-size.ts';

export { PatternAllowance } from './pattern-allowance.ts';

/** A pattern that came from a user; matched in time linear in the text, whatever the pattern. */
export interface Pattern {
  test(text: string): boolean;
  /** The first match with its groups (index 0 is the whole match), or undefined. */
  exec(text: string): { index: number; groups: (string | undefined)[] } | undefined;
}

export const maximumPatternLength = 1024;

/** Compiles Perl-style text. A broken pattern, or one that the allowance has no room for, is a Fault that names `where`. */
export function compilePattern(source: string, where: string, allowance = new PatternAllowance()): Pattern {
  if (source.length > maximumPatternLength) {
    throw new Fault('invalid', `${where}: the pattern is longer than ${maximumPatternLength} characters.`);
  }
  allowance.takeSize(patternSize(source), where);
  const compiled = compile(source, where);
  const test = boundedTest(compiled, where, allowance);
  return {
    test,
    exec(text) {
      // Finding nothing is dear without tables, and groups are found without them.
      if (!test(text)) return undefined;
      const matcher = compiled.engine.matcher(text);
      if (!matcher.find()) return undefined;
      const groups: (string | undefined)[] = [];
      for (let i = 0; i <= matcher.groupCount(); i++) groups.push(matcher.group(i) ?? undefined);
      return { index: matcher.start(), groups };
    },
  };
}

function compile(source: string, where: string): CompiledPattern {
  try {
    return cachedPattern(source);
  } catch (error) {
    throw new Fault('invalid', `${where}: "${source}" is not a valid pattern: ${(error as Error).message}.`);
  }
}

/**
 * The engine makes tables as it meets texts. For some patterns every text needs new ones; left alone, the engine fills its memory
 * with them, throws all away and begins anew, which is slower by far than doing without. Here they are made once, and a pattern
 * that finds no room for more goes on without them and pays for each of its steps.
 */
function boundedTest(compiled: CompiledPattern, where: string, allowance: PatternAllowance): Pattern['test'] {
  const { engine, steps } = compiled;
  const { dfa } = engine.re2();
  dfa.stateBudget = 0;
  let withoutTables = false;
  return (text) => {
    const work = steps * text.length;
    allowance.checkWork(work, where);
    const before = allowance.tables;
    dfa.failed = withoutTables;
    dfa.memBudget = before;
    const found = engine.test(text);
    // When it was too little, all was thrown away, and this is what is left for new ones: nothing, as set above.
    compiled.tables = dfa.memBudget === 0 ? 0 : compiled.tables + before - dfa.memBudget;
    withoutTables = !allowance.leaveTables(dfa.memBudget);
    if (withoutTables) allowance.takeWork(work);
    return found;
  };
}

/** A pattern in the engine, and how much memory its tables have taken. */
interface CompiledPattern {
  readonly engine: RE2JS;
  readonly steps: number;
  tables: number;
}

const cacheSize = 256;
const cacheBytes = 32 * 1024 * 1024;
const bytesPerStep = 1_500;

/** The one used last is at the end. */
const cache = new Map<string, CompiledPattern>();

/** The same patterns come with every request, and those of a whole policy with a change of one rule. Throws what the engine throws. */
function cachedPattern(source: string): CompiledPattern {
  const found = cache.get(source) ?? newPattern(source);
  cache.delete(source);
  cache.set(source, found);
  let bytes = 0;
  for (const pattern of cache.values()) bytes += bytesOf(pattern);
  for (const [text, oldest] of cache) {
    if (cache.size <= cacheSize && bytes <= cacheBytes) break;
    cache.delete(text);
    bytes -= bytesOf(oldest);
  }
  return found;
}

function newPattern(source: string): CompiledPattern {
  const engine = RE2JS.compile(source);
  return { engine, steps: engine.programSize(), tables: 0 };
}

const bytesOf = ({ steps, tables }: CompiledPattern): number => steps * bytesPerStep + tables;
