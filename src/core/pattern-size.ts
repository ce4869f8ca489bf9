/** What a pattern comes to when its repetitions are written out. */
export interface PatternSize {
  /** Steps of the compiled program: characters, classes, branches. */
  readonly steps: number;
  /** Ranges of characters in all its classes, each as often as the class is repeated. */
  readonly ranges: number;
}

/** The largest class of Unicode has 741 ranges. */
const unicodeClass = 800;
/** `\w`, `[:alpha:]` and the like, with the letters that differ in case only. */
const smallClass = 8;
/** A letter in all its cases. */
const foldedLetter = 4;
/** Where case does not count, the compiler looks at each character of a range; so many cost as much as one range. */
const foldedPerRange = 16;

const groupStart = /\?(?:P?<[^>]*>|[A-Za-z^-]*:?)/y;
const classEscape = /[dDsSwW]|[pP](?:\{[^}]*\}|.)?/suy;
const namedClass = /\[:\^?\w+:\]/y;
const escapedCode = /x\{([^}]*)\}|x(..)|([0-7]{1,3})/sy;
const repetition = /(?:[*+?]|\{(\d+)(?:,(\d*))?\})\??/y;

/** How large a pattern is at the most, before it is compiled. One that is invalid has a size too: the compiler says what is wrong. */
export function patternSize(source: string): PatternSize {
  return new Measure(source).whole();
}

class Measure {
  readonly #source: string;
  /** Counted as if the flag held everywhere. */
  readonly #foldsCase: boolean;
  #at = 0;

  constructor(source: string) {
    this.#source = source;
    this.#foldsCase = /\(\?[A-Za-z-]*i/.test(source);
  }

  whole(): PatternSize {
    let size = { steps: 3, ranges: 0 };
    while (this.#at < this.#source.length) {
      size = plus(size, this.#alternatives());
      // Only a parenthesis too many can stand here.
      this.#at++;
    }
    return size;
  }

  /** Up to the end, or to the parenthesis that closes the group. */
  #alternatives(): PatternSize {
    let size = { steps: 1, ranges: 0 };
    while (this.#at < this.#source.length && this.#source[this.#at] !== ')') {
      size = plus(size, this.#repeated(this.#piece()));
    }
    return size;
  }

  #piece(): PatternSize {
    const char = this.#source[this.#at++];
    if (char === '(') return this.#group();
    if (char === '[') return { steps: 1, ranges: this.#bracketClass() };
    if (char === '\\') return this.#escape();
    // One more alternative is a branch, and a step if it is empty.
    return { steps: char === '|' ? 2 : 1, ranges: char === '.' ? 2 : this.#letter };
  }

  #group(): PatternSize {
    this.#take(groupStart);
    const size = this.#alternatives();
    this.#at++;
    return plus(size, { steps: 2, ranges: 0 });
  }

  #escape(): PatternSize {
    if (this.#source[this.#at] === 'Q') {
      const end = this.#source.indexOf('\\E', this.#at);
      const to = end < 0 ? this.#source.length : end;
      const letters = to - this.#at;
      this.#at = to + 2;
      return { steps: letters, ranges: letters * this.#letter };
    }
    const ranges = this.#classEscape();
    if (ranges === undefined) this.#character(true);
    return { steps: 1, ranges: ranges ?? this.#letter };
  }

  #bracketClass(): number {
    // A complement has one range more, and leaves out the end of line.
    let ranges = 2;
    if (this.#source[this.#at] === '^') this.#at++;
    const first = this.#at;
    while (this.#at < this.#source.length && (this.#source[this.#at] !== ']' || this.#at === first)) {
      ranges += this.#classItem();
    }
    this.#at++;
    return ranges;
  }

  #classItem(): number {
    if (this.#take(namedClass)) return smallClass;
    const escaped = this.#backslash();
    const ranges = escaped ? this.#classEscape() : undefined;
    if (ranges !== undefined) return ranges;
    const from = this.#character(escaped);
    if (this.#source[this.#at] !== '-' || this.#source[this.#at + 1] === ']') return this.#letter;
    this.#at++;
    const to = this.#character(this.#backslash());
    return this.#letter + (this.#foldsCase ? Math.max(0, to - from) / foldedPerRange : 0);
  }

  /** The ranges of `\d`, `\pL` and the like, behind the backslash; undefined if one character stands there. */
  #classEscape(): number | undefined {
    const found = this.#take(classEscape);
    if (!found) return undefined;
    return /^p/i.test(found[0]) ? unicodeClass : smallClass;
  }

  /** The code of one character, behind its backslash if it has one. */
  #character(escaped: boolean): number {
    const [, long, short, octal] = (escaped && this.#take(escapedCode)) || [];
    if (octal !== undefined) return Number.parseInt(octal, 8);
    if (long !== undefined || short !== undefined) return Number.parseInt(long ?? short ?? '', 16) || 0;
    const code = this.#source.codePointAt(this.#at) ?? 0;
    this.#at += code > 0xffff ? 2 : 1;
    return code;
  }

  /** With the repetitions that follow: `{m,n}` writes the piece out n times. */
  #repeated(piece: PatternSize): PatternSize {
    let size = piece;
    for (let found = this.#take(repetition); found; found = this.#take(repetition)) {
      const [, least, most] = found;
      const times = Math.max(1, Number(least ?? 1), Number(most || 1));
      // Whatever may be left out is a branch each time.
      const branches = most ? Math.max(0, times - Number(least)) : 2;
      size = { steps: size.steps * times + branches, ranges: size.ranges * times };
    }
    return size;
  }

  get #letter(): number {
    return this.#foldsCase ? foldedLetter : 1;
  }

  #backslash(): boolean {
    if (this.#source[this.#at] !== '\\') return false;
    this.#at++;
    return true;
  }

  #take(piece: RegExp): RegExpExecArray | null {
    piece.lastIndex = this.#at;
    const found = piece.exec(this.#source);
    if (found) this.#at += found[0].length;
    return found;
  }
}

function plus(a: PatternSize, b: PatternSize): PatternSize {
  return { steps: a.steps + b.steps, ranges: a.ranges + b.ranges };
}
