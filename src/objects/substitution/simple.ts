import type { Pattern } from '../../core/patterns.ts';
import { parseSimple, type SimplePattern } from './simple-parse.ts';

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
  const places: number[] = [];
  for (let start = 0; start <= last; start++) {
    const end = matchAt(pattern, text, start, places);
    if (end < 0) continue;
    const groups: (string | undefined)[] = [text.slice(start, end)];
    for (const group of pattern.groups) groups.push(text.slice(places[group.from], places[group.to]));
    return { index: start, groups };
  }
  return undefined;
}

/** The end of the match that begins at `start`, or -1; `places[i]` becomes the place where item i begins. */
function matchAt({ items, toEnd }: SimplePattern, text: string, start: number, places: number[]): number {
  let at = start;
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    if (item === undefined) break;
    places[i] = at;
    const limit = item.most === 1 ? Math.min(at + 1, text.length) : text.length;
    const began = at;
    while (at < limit && item.set[text.charCodeAt(at)] === 1) at++;
    if (at - began < item.least) return -1;
  }
  places[items.length] = at;
  return toEnd && at < text.length ? -1 : at;
}
