/** A pattern for whole paths as `find -path` takes them: `*` is any text, slashes too, `?` a character, `[a-z]` one of these. */
export type PathPattern = readonly Piece[];

type Piece =
  | { readonly kind: 'any' }
  | { readonly kind: 'one' }
  | { readonly kind: 'is'; readonly character: string }
  | { readonly kind: 'set'; readonly not: boolean; readonly ranges: readonly (readonly [string, string])[] };

export function parsePattern(text: string): PathPattern {
  const pieces: Piece[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    const end = character === '[' ? text.indexOf(']', at + 2) : -1;
    if (character === '*') {
      if (pieces.at(-1)?.kind !== 'any') pieces.push({ kind: 'any' });
    } else if (character === '?') pieces.push({ kind: 'one' });
    else if (end > 0) {
      pieces.push(parseSet(text.slice(at + 1, end)));
      at = end;
    } else if (character === '\\' && at + 1 < text.length) pieces.push({ kind: 'is', character: text[++at]! });
    else pieces.push({ kind: 'is', character });
  }
  return pieces;
}

function parseSet(text: string): Piece {
  const not = text.startsWith('!') || text.startsWith('^');
  const inside = not ? text.slice(1) : text;
  const ranges: [string, string][] = [];
  for (let at = 0; at < inside.length; at++) {
    const from = inside[at]!;
    const isRange = inside[at + 1] === '-' && at + 2 < inside.length;
    ranges.push([from, isRange ? inside[at + 2]! : from]);
    if (isRange) at += 2;
  }
  return { kind: 'set', not, ranges };
}

/** Goes back to the last star only, so it takes no more than length times length. */
export function matchesPattern(pattern: PathPattern, path: string): boolean {
  let [at, next, star, resume] = [0, 0, -1, 0];
  while (at < path.length) {
    const piece = pattern[next];
    if (piece?.kind === 'any') {
      star = next++;
      resume = at;
    } else if (piece && fits(piece, path[at]!)) {
      next++;
      at++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++resume;
    } else return false;
  }
  while (pattern[next]?.kind === 'any') next++;
  return next === pattern.length;
}

function fits(piece: Piece, character: string): boolean {
  if (piece.kind === 'is') return piece.character === character;
  if (piece.kind === 'set')
    return piece.ranges.some(([from, to]) => character >= from && character <= to) !== piece.not;
  return true;
}
