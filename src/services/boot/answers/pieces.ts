/** A value that somebody gave: wherever it is written, it must stay one value. */
export interface Value {
  readonly value: string;
  /** Where it comes from, for sentences about it. */
  readonly from: string;
}

/** A part of an answer file: text that stands there as it is, or a value. */
export type Piece = string | Value;

export const given = (value: string, from: string): Value => ({ value, from });

/** Text with values in it, and with other such texts. */
export function pieces(strings: TemplateStringsArray, ...values: readonly (Value | readonly Piece[])[]): Piece[] {
  return strings.flatMap((text, index) => {
    const value = values[index];
    return value === undefined ? [text] : 'value' in value ? [text, value] : [text, ...value];
  });
}

/** Lines of text, each with its end. */
export const lines = (...each: readonly (readonly Piece[])[]): Piece[] => each.flatMap((line) => [...line, '\n']);
