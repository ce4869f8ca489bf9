import { Fault } from '../../../../core/errors.ts';
import { quoteWord } from '../../../../core/shell-words.ts';
import type { Value } from '../pieces.ts';
import { isPlain, noOption, plainOnly } from './writer.ts';

/** What might become a command where a quoted text is read by one more shell. */
const active = /[`$\\;&|<>(){}'"]/;

/**
 * A script for a POSIX shell, followed from character to character as far as quoting goes. Where it cannot be told how a value would
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
