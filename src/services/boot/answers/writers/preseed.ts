import { Fault } from '../../../../core/errors.ts';
import type { Value } from '../pieces.ts';
import { ShellText } from './shell-text.ts';
import { plainOnly, type Writer } from './writer.ts';

const name = /^[A-Za-z0-9_.+/-]+$/;
const answer = /^\s*\S+\s+(\S+)\s+\S+\s/;

/** Preseed: each line is the owner, name and type of a question, and behind these its answer up to the end of the line. */
export class PreseedWriter implements Writer {
  #line = '';
  /** The answer, where it is a command. */
  #command: ShellText | undefined;

  text(text: string): void {
    const [first = '', ...rest] = text.split('\n');
    this.#add(first);
    for (const line of rest) {
      // A backslash makes the next line part of this one.
      if (!this.#line.endsWith('\\') || this.#line.startsWith('#')) {
        this.#line = '';
        this.#command = undefined;
      }
      this.#add(line);
    }
  }

  #add(text: string): void {
    this.#line += text;
    if (this.#command) {
      this.#command.text(text);
      return;
    }
    const [before = '', question = ''] = answer.exec(this.#line) ?? [];
    if (!question.endsWith('_command')) return;
    this.#command = new ShellText();
    this.#command.text(this.#line.slice(before.length));
  }

  value(value: Value, after: string): string {
    const written = this.#written(value, after);
    this.#line += written;
    return written;
  }

  #written(value: Value, after: string): string {
    if (this.#line.startsWith('#')) return plainOnly(value, 'in a comment');
    if (!answer.test(this.#line)) {
      if (name.test(value.value)) return value.value;
      throw new Fault(
        'invalid',
        `${value.from} has the value ${JSON.stringify(value.value)}, which is no name of a question.`,
      );
    }
    if (this.#command) return this.#command.value(value);
    if (after === '' && value.value.endsWith('\\'))
      throw new Fault(
        'invalid',
        `${value.from} has the value ${JSON.stringify(value.value)}: with a backslash at its end the next line would be part of it.`,
      );
    return value.value;
  }
}
