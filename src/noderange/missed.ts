import { Fault } from '../core/errors.ts';

const mostShown = 50;

/** The refusal of a range with unknown names; `unfinished`: there may be more of them. `found` are the known ones. */
export function missedFault(
  missed: readonly string[],
  text: string,
  unfinished = false,
  found: readonly string[] = [],
): Fault {
  const shown = missed
    .slice(0, mostShown)
    .map((name) => (name === '' ? 'a count (+n) after a name without a number' : name));
  const more = missed.length - mostShown;
  const rest = more > 0 ? ` and ${unfinished ? 'more than ' : ''}${more} more` : '';
  const column = columnOf(missed[0] ?? '', text);
  const where = column > 1 ? ` (${missed.length > 1 ? 'the first ' : ''}at column ${column})` : '';
  return new Fault('unknown-object', `Invalid nodes and/or groups in noderange: ${shown.join(',')}${rest}${where}`, {
    about: [...found, ...missed],
    missing: missed,
    reference: [`Invalid nodes and/or groups in noderange: ${missed.slice(0, mostShown).join(',')}`],
  });
}

/** Where the name stands as a whole piece of the text; 0 if it came out of a range or a file. */
function columnOf(name: string, text: string): number {
  if (name === '') return 0;
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = text[at - 1] ?? ',';
    const after = text[at + name.length] ?? ',';
    if (/[-,@('"]/.test(before) && /[,@)'"]/.test(after)) return at + 1;
  }
  return 0;
}
