import { Fault } from '../core/errors.ts';

/** The kinds that are asked for; none is named where all are meant. One that is not known is refused. */
export function kindsIn<Kind extends string>(
  what: string,
  known: readonly Kind[],
  asked: readonly string[],
): readonly Kind[] {
  const unknown = asked.find((kind) => kind !== 'all' && !known.includes(kind as Kind));
  if (unknown !== undefined)
    throw new Fault('invalid', `"${unknown}" is not a kind of ${what}; known are all, ${known.join(', ')}.`);
  return asked.includes('all') ? [] : (asked as readonly Kind[]);
}
