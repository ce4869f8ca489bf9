import { Fault } from '../../../../core/errors.ts';
import type { Piece, Value } from '../pieces.ts';

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

export const isPlain = ({ value }: Value): boolean => plain.test(value);

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
