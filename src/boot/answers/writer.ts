import { Fault } from '../../core/errors.ts';
import { atOnce, eachInSlices, type Interruptible } from '../../core/slices.ts';
import type { Piece, Value } from './installer.ts';

/** Knows the format of an answer file, and so how a value is written at the place that was reached. */
export interface Writer {
  /** Text of the template was written. */
  text(text: string): void;
  /** The value as it is written here; whether it is the last on its line. */
  value(value: Value, endsLine: boolean): string;
}

/** What no format and no shell takes for something else. */
const plain = /^[A-Za-z0-9_@%+=:,./-]*$/;
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const breaks = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

export const isPlain = ({ value }: Value): boolean => plain.test(value);

/** The beginning of a sentence about a value. */
export const having = ({ value, from, isSecret }: Value): string =>
  isSecret ? `${from} has a value (not shown here)` : `${from} has the value ${JSON.stringify(value)}`;

/** A value where only a plain one can stand for itself. */
export function plainOnly(value: Value, place: string): string {
  if (isPlain(value)) return value.value;
  throw new Fault(
    'invalid',
    `${having(value)}, which cannot be written ${place}: only letters, digits and _@%+=:,./- can. Change the value, or the place in the template.`,
  );
}

/** Where a word begins, a dash would make the value an option, however it is quoted. */
export function noOption(value: Value): void {
  if (value.value.startsWith('-'))
    throw new Fault('invalid', `${having(value)}: with a dash before it, it would be an option of a command.`);
}

/** All pieces as the text of a file. */
export const render = (pieces: readonly Piece[], writer: Writer): string => atOnce(rendering(pieces, writer));

/** The same as work that yields: a loop over all nodes makes hundreds of thousands of pieces. */
export function* rendering(pieces: readonly Piece[], writer: Writer): Interruptible<string> {
  const texts: string[] = [];
  yield* eachInSlices(pieces, (piece) => {
    if (typeof piece === 'string') {
      writer.text(piece);
      texts.push(piece);
    } else {
      checkText(piece);
      texts.push(writer.value(piece, endsLine(pieces, texts.length)));
    }
  });
  return texts.join('');
}

/** Refuses what would end a line, in whatever format. */
export function checkText(value: Value): void {
  if (breaks.test(value.value) || !value.value.isWellFormed())
    throw new Fault(
      'invalid',
      `${having(value)}: line breaks and control characters cannot be part of a file that a node gets.`,
    );
}

/** Looks only as far as it has to. */
function endsLine(pieces: readonly Piece[], index: number): boolean {
  let next = index + 1;
  while (pieces[next] === '') next++;
  const piece = pieces[next];
  return piece === undefined || (typeof piece === 'string' && piece.startsWith('\n'));
}
