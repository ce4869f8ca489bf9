import { Fault } from '../../../../core/errors.ts';
import type { Value } from '../pieces.ts';
import { plainOnly, type Writer } from './writer.ts';

interface Level {
  readonly indent: number;
  readonly key: string;
  /** What is below is one text. */
  readonly isText: boolean;
}

/** What shells read. */
const commands = /(^|-)commands$|^(runcmd|bootcmd|content)$/;
// What stays a text without quotes: no number, no truth value, no nothing.
const bare = /^[A-Za-z][A-Za-z0-9_./-]*$/;
const words = /^(y|yes|n|no|on|off|true|false|null)$/i;
const number = /^(0|[1-9]\d*)$/;
const keyed = /^(\s*(?:- +)*)(?:([A-Za-z_][\w.-]*|"[\w.-]+"):(?:\s+|$))?/;

/** A text as YAML reads it back. */
export const yamlText = (text: string): string => (bare.test(text) && !words.test(text) ? text : JSON.stringify(text));

/** YAML of cloud-init: values are scalars, on one line. */
export class YamlWriter implements Writer {
  #line = '';
  #levels: Level[] = [];

  text(text: string): void {
    const [first = '', ...rest] = text.split('\n');
    this.#line += first;
    for (const line of rest) {
      this.#end();
      this.#line = line;
    }
  }

  #end(): void {
    if (/^\s*(#.*)?$/.test(this.#line)) return;
    this.#leave();
    const [, before = '', key = ''] = keyed.exec(this.#line)!;
    const scalar = this.#line.slice(keyed.exec(this.#line)![0].length);
    const isText = /^[|>][+-]?\d?[+-]?\s*(#.*)?$/.test(scalar) || isOpen(scalar);
    if (this.#inText() || (key === '' && !isText)) return;
    // A text without a key is below the dash before it.
    const indent = key === '' ? before.length - 2 : before.length;
    this.#levels.push({ indent, key: key.replaceAll('"', ''), isText });
  }

  /** The levels that the line is not below. */
  #leave(): void {
    const indent = /^(\s*(?:- +)*)/.exec(this.#line)![0].length;
    const spaces = /^\s*/.exec(this.#line)![0].length;
    while ((this.#levels.at(-1)?.indent ?? -1) >= (this.#levels.at(-1)?.isText ? spaces : indent)) this.#levels.pop();
  }

  #inText = (): boolean => this.#levels.some(({ isText }) => isText);

  value(value: Value, after: string): string {
    this.#leave();
    const written = this.#written(value, after);
    this.#line += written;
    return written;
  }

  #written(value: Value, after: string): string {
    if (this.#inText()) return plainOnly(value, 'in a text of several lines');
    const [before = '', , key] = keyed.exec(this.#line)!;
    const own = key === undefined ? [] : [key];
    if ([...this.#levels.map((level) => level.key), ...own].some((each) => commands.test(each)))
      return plainOnly(value, 'in a command');
    const scalar = this.#line.slice(before.length);
    if (isOpen(scalar))
      return scalar.startsWith('"') ? JSON.stringify(value.value).slice(1, -1) : value.value.replaceAll("'", "''");
    if (before.trim() !== '' && scalar === '' && after.trim() === '')
      return number.test(value.value) ? value.value : yamlText(value.value);
    // Part of something without quotes: it must neither end it nor become a key or a comment.
    if (/^[A-Za-z0-9](?:[A-Za-z0-9_@%+=./:-]*[A-Za-z0-9_@%+=./-])?$/.test(value.value)) return value.value;
    throw new Fault(
      'invalid',
      `${value.from} has the value ${JSON.stringify(value.value)}, which cannot be written here without quotes: put the text in the template between double quotes.`,
    );
  }
}

/** Whether a text begins with quotes that are still open at its end. */
function isOpen(text: string): boolean {
  const quote = text.charAt(0);
  if (quote !== '"' && quote !== "'") return false;
  const withoutEscapes = quote === '"' ? text.replaceAll(/\\./g, '') : text.replaceAll("''", '');
  return withoutEscapes.split(quote).length % 2 === 0;
}
