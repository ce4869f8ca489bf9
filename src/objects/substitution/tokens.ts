import { fail } from './values.ts';

/** `parts` of a text alternate freely between literal text and numbers of captures to put in. */
export type Token =
  | { kind: 'number'; value: number }
  | { kind: 'text'; parts: (string | number)[] }
  | { kind: 'capture'; group: number }
  | { kind: 'word'; text: string }
  | { kind: 'sign'; text: string };

const maximumLength = 4096;

/** Bounds the depth of the computation as well: a chain of operators nests once per operator. */
const maximumTokens = 1000;

const tokenPattern =
  /\s+|(?<number>\d+)|\$(?:(?<capture>[1-9]\d{0,2})|\{(?<braced>[1-9]\d{0,2})\})|"(?<double>(?:\\[\s\S]|[^"\\])*)"|'(?<single>(?:\\[\s\S]|[^'\\])*)'|(?<word>[A-Za-z_]\w*)|(?<sign>&&|\|\||[=!<>]=|[-+*/%.<>?:,()!])/gy;

const interpolation = /\\([\s\S])|\$(?:([1-9]\d{0,2})|\{([1-9]\d{0,2})\})|[^\\$]+|\$/g;

const escapes: Record<string, string> = { n: '\n', t: '\t' };

/** The tokens of an expression; text that is none makes the expression fail. */
export function tokenize(text: string): Token[] {
  if (text.length > maximumLength) fail();
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(tokenPattern)) {
    end = match.index + match[0].length;
    const token = tokenOf(match.groups ?? {});
    if (token) tokens.push(token);
    if (tokens.length > maximumTokens) fail();
    // Only integers: "1.5" must not pass for the texts 1 and 5 joined.
    if (token?.kind === 'number' && /^\.\d/.test(text.slice(end, end + 2))) fail();
  }
  return end === text.length ? tokens : fail();
}

function tokenOf(groups: Record<string, string | undefined>): Token | undefined {
  const { number, capture, braced, double, single, word, sign } = groups;
  if (number !== undefined) {
    const value = Number(number);
    return Number.isSafeInteger(value) ? { kind: 'number', value } : fail();
  }
  const group = capture ?? braced;
  if (group !== undefined) return { kind: 'capture', group: Number(group) };
  if (double !== undefined) return { kind: 'text', parts: interpolated(double) };
  if (single !== undefined) return { kind: 'text', parts: [single.replace(/\\([\\'])/g, '$1')] };
  if (word !== undefined) return { kind: 'word', text: word };
  return sign === undefined ? undefined : { kind: 'sign', text: sign };
}

function interpolated(text: string): (string | number)[] {
  const parts: (string | number)[] = [];
  for (const [all, escaped, plain, braced] of text.matchAll(interpolation)) {
    const group = plain ?? braced;
    if (group !== undefined) parts.push(Number(group));
    else parts.push(escaped === undefined ? all : (escapes[escaped] ?? escaped));
  }
  return parts;
}
