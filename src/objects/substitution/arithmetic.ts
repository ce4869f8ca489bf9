import { type Expression, parseExpression } from './parser.ts';
import { type Captures, failing, toText } from './values.ts';

/** Longer results of hostile values count as failing. */
export const maximumResult = 4096;

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
