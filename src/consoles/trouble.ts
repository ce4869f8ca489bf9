import { compilePattern, type Pattern, PatternAllowance } from '../core/patterns.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled } from '../database/tables.ts';
import knownTrouble from './known-trouble.json' with { type: 'json' };
import { readable } from './log-format.ts';

/** Characters of a line that are looked at. */
const longest = 1_024;
/** Characters of a line that a notice repeats. */
const longestShown = 200;
/** Milliseconds in which the same trouble of a node is reported once. */
const quiet = 60_000;
/** Notices of all nodes together in that time: a power failure must not flood who listens. */
const mostNotices = 200;

/** Patterns by name: those that muster knows, and rows of table `consolepattern`, which replace one of the same name or switch it off. */
function patternsIn(snapshot: Snapshot): ReadonlyMap<string, string> {
  const patterns = new Map<string, string>(Object.entries(knownTrouble));
  for (const row of snapshot.rows('consolepattern').values()) {
    const { name = '', pattern = '' } = row;
    if (isEnabled(row) && pattern !== '') patterns.set(name, pattern);
    else patterns.delete(name);
  }
  return patterns;
}

/** Every line must be matched, whatever it costs; the size of the patterns bounds that. */
const compiled = (source: string, where: string): Pattern =>
  compilePattern(source, where, new PatternAllowance({ work: Number.POSITIVE_INFINITY }));

interface Matcher {
  /** Undefined: they are too large together, so each is tried. */
  readonly any: Pattern | undefined;
  readonly each: readonly (readonly [name: string, pattern: Pattern])[];
}

function matcherOf(patterns: ReadonlyMap<string, string>): Matcher {
  const each = [...patterns].flatMap(([name, source]) => {
    // One that was stored before it was checked is passed over.
    const pattern = orUndefined(() => compiled(source, name));
    return pattern ? [[name, pattern] as const] : [];
  });
  const all = [...patterns.values()].map((source) => `(?:${source})`).join('|');
  return { any: orUndefined(() => compiled(all, 'consolepattern')), each };
}

function orUndefined<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

type Report = (node: string, sentence: string) => void;

/** Looks for trouble in what consoles print, and reports it, each kind of a node once in a while. */
export class TroubleWatch {
  readonly #report: Report;
  readonly #reported = new Map<string, number>();
  #rows: unknown;
  #patterns: ReadonlyMap<string, string> = new Map();
  /** Made when a line comes: most servers have no console open. */
  #matcher: Matcher | undefined;
  #window = { since: 0, notices: 0 };

  constructor(report: Report) {
    this.#report = report;
  }

  follow(snapshot: Snapshot): void {
    const rows = snapshot.rows('consolepattern');
    if (rows === this.#rows) return;
    this.#rows = rows;
    this.#patterns = patternsIn(snapshot);
    this.#matcher = undefined;
  }

  /** A line of output, escaped as it is logged. */
  look(node: string, escapedLine: string): void {
    if (escapedLine === '') return;
    const { any, each } = (this.#matcher ??= matcherOf(this.#patterns));
    const cut = escapedLine.slice(0, longest);
    const line = cut.includes('\\') ? readable({ time: 0, text: cut, isNote: false }) : cut;
    if (any && !any.test(line)) return;
    const name = each.find(([, pattern]) => pattern.test(line))?.[0];
    if (name !== undefined) this.#found(node, name, line);
  }

  #found(node: string, name: string, line: string): void {
    const now = Date.now();
    const key = `${node} ${name}`;
    if (now - (this.#reported.get(key) ?? 0) < quiet) return;
    if (now - this.#window.since > quiet) {
      this.#window = { since: now, notices: 0 };
      for (const [old, at] of this.#reported) if (now - at >= quiet) this.#reported.delete(old);
    }
    if (this.#window.notices >= mostNotices) return;
    this.#window.notices++;
    this.#reported.set(key, now);
    this.#report(
      node,
      `Its console printed "${line.slice(0, longestShown)}" (${name}). muster console --log shows more.`,
    );
  }
}
