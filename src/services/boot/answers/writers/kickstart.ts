import { Fault } from '../../../../core/errors.ts';
import { inQuotes, insideQuotes } from '../../../../core/shell-words.ts';
import type { Value } from '../pieces.ts';
import { ShellText } from './shell-text.ts';
import { noOption, plainOnly, type Writer } from './writer.ts';

type Section = 'commands' | 'packages' | 'other' | ShellText;

// What the installer's way to split words would not leave as it is.
const special = /[\s'"\\#]/;
const packageLine = /^[A-Za-z0-9@^*+._:~=/&() -]*$/;

/** Kickstart: words of commands, names of packages, and scripts. */
export class KickstartWriter implements Writer {
  #section: Section = 'commands';
  #line = '';
  #quote = '';

  text(text: string): void {
    const [first = '', ...rest] = text.split('\n');
    this.#add(first);
    for (const line of rest) {
      this.#end();
      this.#add(line);
    }
  }

  #add(text: string): void {
    this.#line += text;
    if (this.#section instanceof ShellText) this.#section.text(text);
    else this.#follow(text);
  }

  /** Which quotes are open on a line of commands. */
  #follow(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const character = text[at]!;
      if (character === '\\' && this.#quote !== "'") at++;
      else if (this.#quote === '' && (character === '"' || character === "'" || character === '#'))
        this.#quote = character;
      else if (character === this.#quote && character !== '#') this.#quote = '';
    }
  }

  #end(): void {
    const begin = /^\s*%(\w+(?:-\w+)?)(.*)$/.exec(this.#line);
    this.#line = '';
    this.#quote = '';
    if (begin) this.#section = sectionOf(begin[1]!, begin[2]!, this.#section);
    else if (this.#section instanceof ShellText) this.#section.text('\n');
  }

  value(value: Value): string {
    if (this.#line.trim() === '' && value.value.startsWith('%'))
      throw new Fault(
        'invalid',
        `${value.from} has the value ${JSON.stringify(value.value)}, which would begin a section.`,
      );
    const written = this.#written(value);
    this.#line += written;
    return written;
  }

  #written(value: Value): string {
    if (this.#section instanceof ShellText) return this.#section.value(value);
    if (this.#section === 'other') return plainOnly(value, 'in this section');
    if (this.#section === 'packages') return packageName(value);
    if (this.#quote === '#') return value.value;
    if (/\s["']?$/.test(this.#line)) noOption(value);
    // A backslash before it would take its first character away.
    if (this.#line.endsWith('\\')) return plainOnly(value, 'behind a backslash');
    if (this.#quote === '"') return value.value.replaceAll(/["\\]/g, String.raw`\$&`);
    if (this.#quote === "'") return insideQuotes(value.value);
    return value.value !== '' && !special.test(value.value) ? value.value : inQuotes(value.value);
  }
}

function packageName(value: Value): string {
  if (packageLine.test(value.value)) return value.value;
  throw new Fault(
    'invalid',
    `${value.from} has the value ${JSON.stringify(value.value)}, which is no name of a package.`,
  );
}

function sectionOf(name: string, options: string, before: Section): Section {
  if (name === 'include' || name === 'ksappend') return before;
  if (name === 'end') return 'commands';
  if (name === 'packages') return 'packages';
  if (name === 'addon' || name === 'anaconda') return 'other';
  const interpreter = /--interpreter[= ]+(\S+)/.exec(options)?.[1];
  return interpreter === undefined || /\/(ba)?sh$/.test(interpreter) ? new ShellText() : 'other';
}
