import { Fault } from '../../core/errors.ts';
import { quoteWord } from '../../core/shell-words.ts';
import type { Value } from './installer.ts';
import { having, isPlain, noOption, plainOnly } from './writer.ts';

/** What might become a command where a quoted text is read by one more shell. */
const active = /[`$\\;&|<>(){}'"]/;

type State = 'plain' | 'single' | 'double' | 'comment' | 'unsure';

/** Places where shells run what a value holds, however it is quoted; what to write there instead. */
const unsafe = {
  arithmetic:
    'in an arithmetic expression of a script, where shells run commands in a value however it is quoted. Put it into a variable (n=#...#), let the script check that it is a number, and calculate with the variable',
  backquotes: 'between backquotes of a script, where muster cannot quote a value. Write $(...) in place of `...`',
} as const;

/**
 * A script for a POSIX shell, followed from character to character as far as quoting goes. Where it is not known how a value would
 * be read (here-documents, commands within quotes, comments), only a plain one is written; where a value could be run, none.
 */
export class ShellText {
  #state: State = 'plain';
  #escaped = false;
  #last = '\n';
  /** Where no value may stand, and what the state is behind it. */
  #region:
    | { readonly kind: keyof typeof unsafe; readonly back: State; readonly ends: string; depth: number }
    | undefined;
  /** The state before a `$(` or `(` that was the last character: a second one begins an arithmetic expression. */
  #opened: State | undefined;

  text(text: string): void {
    for (const character of text) this.#read(character);
  }

  #read(character: string): void {
    const last = this.#last;
    const opened = this.#opened;
    this.#last = character;
    this.#opened = undefined;
    if (this.#escaped) this.#escaped = false;
    else if (character === '\\' && this.#state !== 'single' && this.#state !== 'comment') this.#escaped = true;
    else if (this.#region) this.#readRegion(character);
    else if (this.#state === 'comment') {
      if (character === '\n') this.#state = 'plain';
    } else if (this.#state === 'single') {
      if (character === "'") this.#state = 'plain';
    } else if (character === '`') this.#enter('backquotes', '`', this.#state);
    else if (character === '(' && last === '(' && opened) this.#enter('arithmetic', ')', opened, 2);
    else if (character === '[' && last === '$') this.#enter('arithmetic', ']', this.#state);
    else this.#readOpen(character, last);
  }

  #enter(kind: keyof typeof unsafe, ends: string, back: State, depth = 1): void {
    this.#region = { kind, ends, back, depth };
  }

  #readRegion(character: string): void {
    const region = this.#region!;
    if (character === region.ends) region.depth--;
    else if (character === { ')': '(', ']': '[' }[region.ends]) region.depth++;
    if (region.depth > 0) return;
    this.#state = region.back;
    this.#region = undefined;
  }

  #readOpen(character: string, last: string): void {
    if (character === '(') this.#opened = this.#state;
    if (this.#state === 'unsure') return;
    if (this.#state === 'double') {
      if (character === '"') this.#state = 'plain';
      else if (last === '$' && (character === '(' || character === '{')) this.#state = 'unsure';
    } else if (character === '"') this.#state = 'double';
    else if (character === "'") this.#state = last === '$' ? 'unsure' : 'single';
    else if (character === '<' && last === '<') this.#state = 'unsure';
    else if (character === '#' && /[\s;&|()]/.test(last)) this.#state = 'comment';
  }

  value(value: Value): string {
    if (this.#region) throw new Fault('invalid', `${value.from} cannot stand ${unsafe[this.#region.kind]}.`);
    const isClear = !this.#escaped && this.#last !== '$';
    const state = isClear ? this.#state : 'unsure';
    const isWord = /[\s;&|()]/.test(this.#last);
    this.#last = 'v';
    this.#opened = undefined;
    this.#escaped = false;
    if (isWord && state !== 'comment') noOption(value);
    if (state === 'plain') return value.value === '' ? "''" : quoteWord(value.value);
    if (isPlain(value)) return value.value;
    if (state !== 'single' && state !== 'double') return plainOnly(value, 'at this place of a script');
    if (!active.test(value.value)) return value.value;
    throw new Fault(
      'invalid',
      `${having(value)}, which cannot be written between quotes in a script, as another shell might run part of it: leave the quotes out in the template, they are added.`,
    );
  }
}
