const indent = 3;

/** How a reply is written: in one line, or indented; as the reference system does it, without a blank behind names. */
export interface JsonForm {
  readonly pretty: boolean;
  readonly blankAfterName: boolean;
}

const name = /^(\s*"(?:[^"\\]|\\.)*"): /gm;

/** A value as JSON. */
export function jsonText(value: unknown, { pretty, blankAfterName }: JsonForm): string {
  if (!pretty) return JSON.stringify(value);
  const text = JSON.stringify(value, null, indent);
  return blankAfterName ? text : text.replaceAll(name, '$1:');
}

export const colonOf = ({ pretty, blankAfterName }: JsonForm): string => (pretty && blankAfterName ? ': ' : ':');

/** The start of a line, `depth` levels deep in an indented text. */
export const lineAt = (pretty: boolean, depth: number): string => (pretty ? `\n${' '.repeat(indent * depth)}` : '');
