import { nearest } from '../core/nearest.ts';
import { type OptionTable, type ParsedOptions, writtenName } from './options.ts';

/** What is wrong with the words of a call, a sentence for each: unknown options, options without their value, operands too many. */
export function wrongWords(
  command: string,
  { unknown, lacking, operands }: Pick<ParsedOptions, 'unknown' | 'lacking' | 'operands'>,
  table: OptionTable,
  most: number,
): string[] {
  return [
    ...new Set(
      unknown.map((name) =>
        isKnown(name, table)
          ? `${writtenName(name)} takes no value: write ${writtenName(name)} alone, or leave it out.`
          : `${command} has no option ${writtenName(name)}.${meant(name, table)}`,
      ),
    ),
    ...lacking.map((name) => `The option ${writtenName(name)} needs a value.`),
    // Of a command that takes unknown options for names, or options only before its operands.
    ...operands
      .filter((word) => /^-./.test(word))
      .map((word) =>
        isKnown(word, table)
          ? `${word} stands too late: options of ${command} come before its operands.`
          : `${command} has no option ${word}.`,
      ),
    ...operands
      .slice(most)
      .filter((word) => !/^-./.test(word))
      .map((word) => `"${word}" is one word too many; ${command} takes ${operandCount(most)}.`),
  ];
}

const isKnown = (word: string, table: OptionTable): boolean =>
  Object.keys(table).some((names) => names.split('|').includes(word.replace(/^--?/, '').split('=', 1)[0]!));

function meant(name: string, table: OptionTable): string {
  const known = Object.keys(table).flatMap((names) => names.split('|'));
  const option = nearest(
    name,
    known.filter((each) => each.length > 1),
  );
  return option === undefined ? '' : ` Did you mean ${writtenName(option)}?`;
}

const operandCount = (most: number): string =>
  most === 0 ? 'no operands' : most === 1 ? 'one operand' : `${most} operands at most`;
