/**
 * An option of a command, declared once: the command has it as an argument, REST as a member of the body, the command line as an option or
 * operand, and argument lines, help, completion and the reference are made from it. Plain data: the command line has no schemas.
 */
export interface CommandOption {
  /** `flag`: given or not; `text`; `size`: a text or a number; `list`: several of these, joined by commas. */
  readonly kind: 'flag' | 'text' | 'size' | 'list';
  /** The member of the body, where it is not called like the argument. */
  readonly member?: string;
  /** Its names on the command line, joined by `|`. Absent: it is an operand. */
  readonly option?: string;
  /** What stands for its value in the help. */
  readonly value?: string;
  /** Without it there is nothing to do. */
  readonly required?: true;
  readonly help: string;
}

/** By argument, in the order of the argument line. */
export type CommandOptions = Readonly<Record<string, CommandOption>>;

export const memberOf = ([argument, { member = argument }]: readonly [string, CommandOption]): string => member;

/** As argument lines have it: by its letter, if it has one. Undefined: it is an operand. */
export function writtenOption({ option }: CommandOption): string | undefined {
  const names = option?.split('|') ?? [];
  const letter = names.find((name) => name.length === 1);
  return letter === undefined ? names[0] && `--${names[0]}` : `-${letter}`;
}
