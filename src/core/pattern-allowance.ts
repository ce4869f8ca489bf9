import { Fault } from './errors.ts';
import type { PatternSize } from './pattern-size.ts';

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

  /** After a text was matched: whether there is room for more. Where work has no limit, there always is: tables are made anew. */
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
