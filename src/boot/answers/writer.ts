import { Fault } from '../../core/errors.ts';
import { quoteWord } from '../../core/shell-words.ts';
import type { Piece, Value } from './installer.ts';

/** Knows the format of an answer file, and so how a value is written at the place that was reached. */
export interface Writer {
  /** Text of the template was written. */
  text(text: string): void;
  /** The value as it is written here. `after` is what stands behind it on its line; another value there is a NUL character. */
  value(value: Value, after: string): string;
}

/** What no format and no shell takes for something else. */
const plain = /^[A-Za-z0-9_@%+=:,./-]*$/;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const breaks = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

const isPlain = ({ value }: Value): boolean => plain.test(value);

/** A value where only a plain one can stand for itself. */
export function plainOnly(value: Value, place: string): string {
  if (isPlain(value)) return value.value;
  throw new Fault(
    'invalid',
    `${value.from} has the value ${JSON.stringify(value.value)}, which cannot be written ${place}: only letters, digits and _@%+=:,./- can. Change the value, or the place in the template.`,
  );
}

/** Where a word begins, a dash would make the value an option, however it is quoted. */
export function noOption({ value, from }: Value): void {
  if (value.startsWith('-'))
    throw new Fault(
      'invalid',
      `${from} has the value ${JSON.stringify(value)}: with a dash before it, it would be an option of a command.`,
    );
}

/** All pieces as the text of a file. */
export function render(pieces: readonly Piece[], writer: Writer): string {
  return pieces
    .map((piece, index) => {
      if (typeof piece === 'string') {
        writer.text(piece);
        return piece;
      }
      checkText(piece);
      return writer.value(piece, lineAfter(pieces, index));
    })
    .join('');
}

/** Refuses what would end a line, in whatever format. */
export function checkText({ value, from }: Value): void {
  if (breaks.test(value) || !value.isWellFormed())
    throw new Fault(
      'invalid',
      `${from} has the value ${JSON.stringify(value)}: line breaks and control characters cannot be part of an answer file.`,
    );
}

function lineAfter(pieces: readonly Piece[], index: number): string {
  let after = '';
  for (const piece of pieces.slice(index + 1)) {
    const [text = '', ...more] = typeof piece === 'string' ? piece.split('\n', 2) : ['\0'];
    after += text;
    if (more.length > 0) break;
  }
  return after;
}

/** What might become a command where a quoted text is read by one more shell. */
const active = /[`$\\;&|<>(){}'"]/;

/**
 * A script for a POSIX shell, followed from character to character as far as quoting goes. Where it is not known how a value would
 * be read (here-documents, commands within quotes, comments), only a plain one is written.
 */
export class ShellText {
  #state: 'plain' | 'single' | 'double' | 'comment' | 'unsure' = 'plain';
  #escaped = false;
  #last = '\n';

  text(text: string): void {
    for (const character of text) this.#read(character);
  }

  #read(character: string): void {
    const last = this.#last;
    this.#last = character;
    if (this.#state === 'unsure') return;
    if (this.#state === 'comment') {
      if (character === '\n') this.#state = 'plain';
    } else if (this.#escaped) this.#escaped = false;
    else if (this.#state === 'single') {
      if (character === "'") this.#state = 'plain';
    } else if (character === '\\') this.#escaped = true;
    else if (character === '`') this.#state = 'unsure';
    else if (this.#state === 'double') {
      if (character === '"') this.#state = 'plain';
      else if (last === '$' && (character === '(' || character === '{')) this.#state = 'unsure';
    } else if (character === '"') this.#state = 'double';
    else if (character === "'") this.#state = last === '$' ? 'unsure' : 'single';
    else if (character === '<' && last === '<') this.#state = 'unsure';
    else if (character === '#' && /[\s;&|()]/.test(last)) this.#state = 'comment';
  }

  value(value: Value): string {
    const isClear = !this.#escaped && this.#last !== '$';
    const state = isClear ? this.#state : 'unsure';
    const isWord = /[\s;&|()]/.test(this.#last);
    this.#last = 'v';
    if (isWord && state !== 'comment') noOption(value);
    if (state === 'plain') return value.value === '' ? "''" : quoteWord(value.value);
    if (isPlain(value)) return value.value;
    if (state !== 'single' && state !== 'double') return plainOnly(value, 'at this place of a script');
    if (!active.test(value.value)) return value.value;
    throw new Fault(
      'invalid',
      `${value.from} has the value ${JSON.stringify(value.value)}, which cannot be written between quotes in a script, as another shell might run part of it: leave the quotes out in the template, they are added.`,
    );
  }
}
