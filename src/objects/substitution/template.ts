import { type Captures, failing, toText } from './values.ts';
import { type Expression, parseExpression } from './parser.ts';

/** How often a result that holds parentheses again is evaluated again. */
const maximumRounds = 8;

const parenthesis = /[()]/;

/** The replacement of a pattern value: computes its text from the captures. */
export type Template = (captures: Captures) => string;

/** Every outermost balanced ( ... ) is an expression, everything else stays as it is. */
export function compileTemplate(text: string): Template {
  const first = split(text);
  if (first.expressions.length === 0) return () => text;
  return (captures) => {
    let current = first;
    for (let round = 0; round < maximumRounds; round++) {
      const result = fill(current, captures);
      if (result.text.length > maximumResult) return '';
      if (!result.again) return result.text;
      current = split(result.text);
      if (current.expressions.length === 0) return result.text;
    }
    return '';
  };
}

/** `literals[0] expressions[0] literals[1] ...`: one literal more than expressions. */
interface Pieces {
  literals: string[];
  expressions: Template[];
}

function split(text: string): Pieces {
  const pieces: Pieces = { literals: [], expressions: [] };
  let end = 0;
  for (const [open, close] of outermostPairs(text)) {
    pieces.literals.push(text.slice(end, open));
    pieces.expressions.push(compileExpression(text.slice(open + 1, close)));
    end = close + 1;
  }
  pieces.literals.push(text.slice(end));
  return pieces;
}

/** The first ( ... ) that is no expression. */
export function brokenExpression(text: string): string | undefined {
  for (const [open, close] of outermostPairs(text)) {
    const inside = text.slice(open + 1, close);
    if (orFailing(() => parseExpression(inside), undefined) === undefined) return text.slice(open, close + 1);
  }
  return undefined;
}

/** The pairs that lie in no other pair, from left to right; a parenthesis without partner belongs to none. */
function outermostPairs(text: string): [open: number, close: number][] {
  const opened: number[] = [];
  const pairs: [number, number][] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '(') opened.push(i);
    if (text[i] !== ')') continue;
    const open = opened.pop();
    if (open === undefined) continue;
    while ((pairs.at(-1)?.[0] ?? -1) > open) pairs.pop();
    pairs.push([open, i]);
  }
  return pairs;
}

/** `again`: a result brought parentheses with it. Otherwise no balanced pair can be left. */
function fill({ literals, expressions }: Pieces, captures: Captures): { text: string; again: boolean } {
  let text = literals[0] ?? '';
  let again = false;
  for (let i = 0; i < expressions.length && text.length <= maximumResult; i++) {
    const result = expressions[i]?.(captures) ?? '';
    again ||= parenthesis.test(result);
    text += result + (literals[i + 1] ?? '');
  }
  return { text, again };
}

/** Longer results of hostile values count as failing. */
const maximumResult = 4096;

/** Parses once, computes per node. Neither step throws: what cannot be parsed or computed is the empty text. */
export function compileExpression(text: string): (captures: Captures) => string {
  const expression = orFailing<Expression | undefined>(() => parseExpression(text), undefined);
  if (expression === undefined) return () => '';
  return (captures) => {
    const result = orFailing(() => toText(expression(captures)), '');
    return result.length > maximumResult ? '' : result;
  };
}

function orFailing<T>(step: () => T, otherwise: T): T {
  try {
    return step();
  } catch (error) {
    if (error === failing) return otherwise;
    throw error;
  }
}
