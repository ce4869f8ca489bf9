import { Fault } from '../../core/errors.ts';
import { compilePattern, maximumPatternLength, type Pattern, PatternAllowance } from '../../core/patterns.ts';

/** What the character sets of a simple pattern, which end at ASCII, are complete for. */
const plainText = /^[ -~]*$/;

/**
 * A matcher for patterns such as `node(\d+)` or `^\D+(\d+)-(\w+)$`, several times faster than the general engine;
 * undefined when the pattern is of another shape. `general` is the same pattern, for names that are not plain ASCII.
 *
 * Only patterns that never need to step back are taken: what follows a repeated piece cannot begin with a character
 * that the piece itself takes, so taking as much as possible is the only way to match.
 */
export function compileSimple(source: string, general: Pattern): Pattern | undefined {
  const pattern = plainText.test(source) ? parseSimple(source) : undefined;
  if (pattern === undefined || !neverStepsBack(pattern)) return undefined;
  const exec = (text: string) => (plainText.test(text) ? search(pattern, text) : general.exec(text));
  return { exec, test: (text) => exec(text) !== undefined };
}

function neverStepsBack({ items }: SimplePattern): boolean {
  return items.every((item, i) => {
    if (item.least === item.most) return true;
    for (let j = i + 1; j < items.length; j++) {
      const next = items[j];
      if (next === undefined || (next.takesAll && j === items.length - 1)) return true;
      if (item.set.some((taken, code) => taken === 1 && next.set[code] === 1)) return false;
      if (next.least > 0) return true;
    }
    return true;
  });
}

function search(pattern: SimplePattern, text: string): ReturnType<Pattern['exec']> {
  const last = pattern.fromStart ? 0 : text.length;
  const starts: number[] = [];
  for (let start = 0; start <= last; start++) {
    const end = matchAt(pattern, text, start, starts);
    if (end < 0) continue;
    const groups: (string | undefined)[] = [text.slice(start, end)];
    for (const group of pattern.groups) groups.push(text.slice(starts[group.from], starts[group.to]));
    return { index: start, groups };
  }
  return undefined;
}

/** The end of the match that begins at `start`, or -1; `starts[i]` becomes the position where item i begins. */
function matchAt({ items, toEnd }: SimplePattern, text: string, start: number, starts: number[]): number {
  let at = start;
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (item === undefined) break;
    starts[i] = at;
    const limit = item.most === 1 ? Math.min(at + 1, text.length) : text.length;
    const began = at;
    while (at < limit && item.set[text.charCodeAt(at)] === 1) at++;
    if (at - began < item.least) return -1;
  }
  starts[items.length] = at;
  return toEnd && at < text.length ? -1 : at;
}

/** One character of a set, repeated at least `least` (0 or 1) and at most `most` (1 or without end) times. */
interface Item {
  set: Uint8Array;
  least: number;
  most: number;
  /** Written `.*`: takes the rest of any plain name. */
  takesAll: boolean;
}

interface SimplePattern {
  items: Item[];
  /** Captures, in the order of their opening: the items from `from` up to before `to`. */
  groups: { from: number; to: number }[];
  fromStart: boolean;
  toEnd: boolean;
}

const piece =
  /(?<open>\((?!\?))|(?<close>\)(?![*+?{]))|(?<one>[^\\.[\](){}*+?|^$]|\\[dDwW.\-_/:]|\.|\[\^?(?:[\w.:]-[\w.:]|[\w.:])+-?\])(?<repeat>[*+?]?)(?![*+?{])/gy;

/** A sequence of characters and sets with optional repetition, captures and anchors at the ends; undefined for any other pattern. */
function parseSimple(source: string): SimplePattern | undefined {
  const fromStart = /^(?:\^|\\A)/.exec(source)?.[0].length ?? 0;
  const body = source.slice(fromStart).replace(/(?<!\\)(?:\$|\\z)$/, '');
  const toEnd = body.length < source.length - fromStart;
  const pattern: SimplePattern = { items: [], groups: [], fromStart: fromStart > 0, toEnd };
  const open: { from: number; to: number }[] = [];
  let end = 0;
  for (const match of body.matchAll(piece)) {
    end = match.index + match[0].length;
    const one = match.groups?.one;
    if (one !== undefined) {
      pattern.items.push(itemOf(one, match.groups?.repeat ?? ''));
    } else if (match.groups?.open !== undefined) {
      const group = { from: pattern.items.length, to: -1 };
      pattern.groups.push(group);
      open.push(group);
    } else {
      const group = open.pop();
      if (group === undefined) return undefined;
      group.to = pattern.items.length;
    }
  }
  return end === body.length && open.length === 0 ? pattern : undefined;
}

function itemOf(one: string, repeat: string): Item {
  return {
    set: setOf(one),
    least: repeat === '' || repeat === '+' ? 1 : 0,
    most: repeat === '' || repeat === '?' ? 1 : Number.POSITIVE_INFINITY,
    takesAll: one === '.' && repeat === '*',
  };
}

const digit = /\d/;
const wordCharacter = /\w/;

function setOf(one: string): Uint8Array {
  const holds = testOf(one);
  return Uint8Array.from({ length: 128 }, (_, code) => (holds(String.fromCharCode(code)) ? 1 : 0));
}

function testOf(one: string): (character: string) => boolean {
  switch (one) {
    case '.':
      return (character) => character !== '\n';
    case '\\d':
      return (character) => digit.test(character);
    case '\\D':
      return (character) => !digit.test(character);
    case '\\w':
      return (character) => wordCharacter.test(character);
    case '\\W':
      return (character) => !wordCharacter.test(character);
  }
  if (one.startsWith('[')) return classTest(one.slice(1, -1));
  const literal = one.at(-1);
  return (character) => character === literal;
}

function classTest(inside: string): (character: string) => boolean {
  const negated = inside.startsWith('^');
  const ranges = (negated ? inside.slice(1) : inside).match(/[^-]-[^-]|[\s\S]/g) ?? [];
  return (character) =>
    ranges.some((range) => character >= range.charAt(0) && character <= (range.at(-1) ?? '')) !== negated;
}

/** Quoted text, one escape, one bracket class, a comment, or a group with default flags. */
const perlPiece = /\\Q[\s\S]*?(?:\\E|$)|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]|\(\?#[^)]*\)|\(\?\^:/g;

/** Names hold no line breaks, so before-the-last-newline and the very end are one place. */
const spellings: Record<string, string> = {
  '\\Z': '\\z',
  '\\h': '[ \\t]',
  '\\H': '[^ \\t]',
  '\\N': '.',
  '(?^:': '(?:',
};

/** Values are made again for every node, so their patterns must be small; then every name is matched, whatever it costs. */
const limits = { steps: 1_000, ranges: 5_000, work: Number.POSITIVE_INFINITY };

/** Rewrites the Perl spellings that the linear engine does not know. */
export function translate(source: string): string {
  return source.replace(perlPiece, (text) => {
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
