import { Fault } from '../../../../core/errors.ts';
import type { Value } from '../pieces.ts';
import { ShellText } from './shell-text.ts';
import { plainOnly, type Writer } from './writer.ts';

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

export const escapeXml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character]!);

type State = 'text' | 'tag' | 'comment' | 'cdata' | 'instruction';

/** AutoYaST's XML: texts, values of attributes, and scripts in CDATA sections. */
export class XmlWriter implements Writer {
  #state: State = 'text';
  /** What was read of a tag, or the last characters of what ends with a mark. */
  #read = '';
  #quote = '';
  #element = '';
  #script = new ShellText();
  readonly #isShell: boolean;

  /** Scripts of a file that names another interpreter are not taken for those of a shell. */
  constructor(template: string) {
    this.#isShell = [...template.matchAll(/<interpreter>([^<]*)/g)].every(([, name]) => name!.trim() === 'shell');
  }

  text(text: string): void {
    for (const character of text) this.#follow(character);
  }

  #follow(character: string): void {
    const state = this.#state;
    if (state === 'text') {
      if (character === '<') this.#enter('tag');
      return;
    }
    this.#read += character;
    if (state === 'tag') this.#followTag(character);
    else if (state === 'comment' && this.#read.endsWith('-->')) this.#enter('text');
    else if (state === 'instruction' && this.#read.endsWith('?>')) this.#enter('text');
    else if (state === 'cdata') {
      if (this.#read.endsWith(']]>')) this.#enter('text');
      else this.#script.text(character);
    }
  }

  #followTag(character: string): void {
    if (this.#read === '!--') this.#enter('comment');
    else if (this.#read === '?') this.#enter('instruction');
    else if (this.#read === '![CDATA[') {
      this.#script = new ShellText();
      this.#enter('cdata');
    } else if (this.#quote !== '') {
      if (character === this.#quote) this.#quote = '';
    } else if (character === '"' || character === "'") this.#quote = character;
    else if (character === '>') {
      this.#element = /^[\w:.-]+/.exec(this.#read)?.[0] ?? '';
      this.#enter('text');
    }
  }

  #enter(state: State): void {
    this.#state = state;
    this.#read = '';
  }

  value(value: Value): string {
    if (this.#state === 'cdata')
      return this.#isShell
        ? this.#script.value(value).replaceAll('>', ']]>&gt;<![CDATA[')
        : plainOnly(value, 'in a script that is not for a shell');
    if (this.#state === 'text') {
      if (this.#element !== 'source') return escapeXml(value.value);
      return plainOnly(value, 'in a script outside of a CDATA section');
    }
    if (this.#state === 'tag' && this.#quote !== '') return escapeXml(value.value);
    if (/^\w[\w.]*$/.test(value.value) && this.#state !== 'tag') return value.value;
    throw new Fault(
      'invalid',
      `${value.from} has the value ${JSON.stringify(value.value)}, which cannot be written in a tag, a comment or an instruction of XML.`,
    );
  }
}
