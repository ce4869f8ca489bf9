/** One character of a set, repeated at least `least` (0 or 1) and at most `most` (1 or without end) times. */
export interface Item {
  set: Uint8Array;
  least: number;
  most: number;
  /** Written `.*`: takes the rest of any plain name. */
  takesAll: boolean;
}

export interface SimplePattern {
  items: Item[];
  /** Captures, in the order of their opening: the items from `from` up to before `to`. */
  groups: { from: number; to: number }[];
  fromStart: boolean;
  toEnd: boolean;
}

const piece =
  /(?<open>\((?!\?))|(?<close>\)(?![*+?{]))|(?<one>[^\\.[\](){}*+?|^$]|\\[dDwW.\-_/:]|\.|\[\^?(?:[\w.:]-[\w.:]|[\w.:])+-?\])(?<repeat>[*+?]?)(?![*+?{])/gy;

/** A sequence of characters and sets with optional repetition, captures and anchors at the ends; undefined for any other pattern. */
export function parseSimple(source: string): SimplePattern | undefined {
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
