import { RE2JS } from 're2js';
import { Fault } from './errors.ts';
import { type PatternSize, patternSize } from './pattern-size.ts';

interface PatternLimits extends PatternSize {
  /** Bytes of the tables that the engine makes as it goes along; with them a character costs one look-up. */
  readonly tables: number;
  /** Steps times characters, of patterns whose tables do not fit; infinite where every text must be matched. */
  readonly work: number;
}

/** The same of one text for which there are tables at its beginning. */
const mostOfOneText = 1_250_000;

/** For one pattern: whatever has no counted repetitions and few Unicode classes fits. */
const usual: PatternLimits = { steps: 2_000, ranges: 20_000, tables: 64 * 1024, work: 150_000 };

/** What patterns that come together, such as all of one range, may cost together: by default as much as one alone. */
export class PatternAllowance {
  readonly #limits: PatternLimits;
  #steps: number;
  #ranges: number;
  #tables: number;
  #work: number;

  constructor(limits: Partial<PatternLimits> = {}) {
    this.#limits = { ...usual, ...limits };
    this.#steps = this.#limits.steps;
    this.#ranges = this.#limits.ranges;
    this.#tables = this.#limits.tables;
    this.#work = this.#limits.work;
  }

  /** Before a pattern is compiled. */
  takeSize({ steps, ranges }: PatternSize, where: string): void {
    const mostSteps = Math.min(this.#limits.steps, usual.steps);
    const mostRanges = Math.min(this.#limits.ranges, usual.ranges);
    if (steps > mostSteps || ranges > mostRanges) {
      throw new Fault(
        'invalid',
        `${where}: the pattern is too large: with its repetitions written out it has up to ${shown(steps)} steps and ` +
          `${shown(ranges)} ranges of characters, and ${shown(mostSteps)} and ${shown(mostRanges)} are allowed; ` +
          'repeat less, or smaller pieces.',
      );
    }
    if (steps > this.#steps || ranges > this.#ranges) {
      throw new Fault(
        'invalid',
        `${where}: the pattern is too large together with the others here: with their repetitions written out they may ` +
          `have ${shown(this.#limits.steps)} steps and ${shown(this.#limits.ranges)} ranges of characters in all.`,
      );
    }
    this.#steps -= steps;
    this.#ranges -= ranges;
  }

  get tables(): number {
    return this.#tables;
  }

  /** After a text was matched: whether the budget allows more. Where work has no limit, there always is: tables are made again. */
  leaveTables(left: number): boolean {
    this.#tables = left === 0 && this.#work === Number.POSITIVE_INFINITY ? this.#limits.tables : left;
    return this.#tables > 0;
  }

  /** Before a text is matched that may cost so much work. */
  checkWork(work: number, where: string): void {
    if (work <= (this.#tables > 0 ? Math.max(mostOfOneText, this.#work) : this.#work)) return;
    throw new Fault(
      'invalid',
      `${where}: matching the pattern would take too long; repeat less, use fewer alternatives, or ask about fewer nodes.`,
    );
  }

  takeWork(work: number): void {
    this.#work -= work;
  }
}

const shown = (count: number): string => Math.ceil(count).toLocaleString('en-US');

/** A pattern that came from a user; matched in time linear in the text, whatever the pattern. */
export interface Pattern {
  test(text: string): boolean;
  /** The first match with its groups (index 0 is the whole match), or undefined. */
  exec(text: string): { index: number; groups: (string | undefined)[] } | undefined;
}

export const maximumPatternLength = 1024;

/** Compiles Perl-style text. A broken pattern, or one that exceeds the allowance, is a Fault that names `where`. */
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
 * The engine makes tables as it meets texts. For some patterns every text needs new ones; without limits, the engine fills its memory
 * with them, throws all away and begins again, which is slower by far than doing without. Here they are made once, and a pattern
 * that has no budget for more goes on without them and pays for each of its steps.
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
