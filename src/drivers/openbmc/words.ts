import { Fault } from '../../core/errors.ts';

/** OpenBMC's words with the Redfish values they stand for. */
type Words = Readonly<Record<string, string>>;

/** The word for a value, or the value itself. */
export const wordFor = (words: Words, value: string | undefined): string | undefined =>
  value === undefined ? undefined : (Object.keys(words).find((word) => words[word] === value) ?? value);

export function valueFor(words: Words, attribute: string, word: string): string {
  const value = Object.hasOwn(words, word) ? words[word] : undefined;
  if (value === undefined) {
    throw new Fault('invalid', `${attribute} is one of ${Object.keys(words).join(', ')}, not "${word}".`);
  }
  return value;
}
