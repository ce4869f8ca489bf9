import { functions, operationOf } from './functions.ts';
import { type Captures, fail, isTrue, toInteger, truth, type Value } from './values.ts';

/** `parts` of a text alternate freely between literal text and numbers of captures to put in. */
type Token =
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
function tokenize(text: string): Token[] {
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

/** A parsed expression, ready to be computed for the captures of any node. */
export type Expression = (captures: Captures) => Value;

const maximumDepth = 100;

/** Fails when the text is not an expression. */
export function parseExpression(text: string): Expression {
  return new Parser(tokenize(text)).whole();
}

/** Precedence climbing; from loosest to tightest: ?: || && (levels 1, 2), then the other operations, then unary - + !. */
class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  whole(): Expression {
    const expression = this.#choice();
    return this.#next === this.#tokens.length ? expression : fail();
  }

  #choice(): Expression {
    this.#descend();
    const condition = this.#binary(1);
    let result = condition;
    if (this.#take('?')) {
      const whenTrue = this.#choice();
      this.#expect(':');
      const whenFalse = this.#choice();
      result = (captures) => (isTrue(condition(captures)) ? whenTrue(captures) : whenFalse(captures));
    }
    this.#depth--;
    return result;
  }

  #binary(lowest: number): Expression {
    let left = this.#unary();
    for (;;) {
      const token = this.#tokens[this.#next];
      const text = token?.kind === 'sign' || token?.kind === 'word' ? token.text : '';
      const level = text === '||' ? 1 : text === '&&' ? 2 : operationOf(text)?.level;
      if (level === undefined || level < lowest) return left;
      this.#next++;
      left = join(text, left, this.#binary(level + 1));
    }
  }

  #unary(): Expression {
    const sign = this.#take('-') ?? this.#take('+') ?? this.#take('!');
    if (sign === undefined) return this.#primary();
    this.#descend();
    const operand = this.#unary();
    this.#depth--;
    if (sign === '+') return operand;
    return sign === '-' ? (captures) => -toInteger(operand(captures)) : (captures) => truth(!isTrue(operand(captures)));
  }

  #primary(): Expression {
    const token = this.#tokens[this.#next++] ?? fail();
    switch (token.kind) {
      case 'number': {
        const { value } = token;
        return () => value;
      }
      case 'capture': {
        const { group } = token;
        return (captures) => captures[group] ?? '';
      }
      case 'text':
        return interpolate(token.parts);
      case 'word':
        return this.#call(token.text);
      case 'sign': {
        if (token.text !== '(') fail();
        const inner = this.#choice();
        this.#expect(')');
        return inner;
      }
    }
  }

  #call(name: string): Expression {
    const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
    if (found === undefined) fail();
    this.#expect('(');
    const args: Expression[] = [];
    if (!this.#take(')')) {
      do args.push(this.#choice());
      while (this.#take(','));
      this.#expect(')');
    }
    if (args.length < found.least || args.length > found.most) fail();
    const { apply } = found;
    return (captures) => apply(args.map((arg) => arg(captures)));
  }

  #take(sign: string): string | undefined {
    const token = this.#tokens[this.#next];
    if (token?.kind !== 'sign' || token.text !== sign) return undefined;
    this.#next++;
    return sign;
  }

  #expect(sign: string): void {
    if (this.#take(sign) === undefined) fail();
  }

  #descend(): void {
    if (++this.#depth > maximumDepth) fail();
  }
}

function join(text: string, left: Expression, right: Expression): Expression {
  if (text === '||' || text === '&&') {
    const stopsOn = text === '||';
    return (captures) => {
      const value = left(captures);
      return isTrue(value) === stopsOn ? value : right(captures);
    };
  }
  const apply = operationOf(text)?.apply ?? fail();
  return (captures) => apply(left(captures), right(captures));
}

function interpolate(parts: readonly (string | number)[]): Expression {
  return (captures) => {
    let text = '';
    for (const part of parts) text += typeof part === 'string' ? part : (captures[part] ?? '');
    return text;
  };
}
