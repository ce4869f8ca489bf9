import { Fault } from './errors.ts';

const plain = /^[A-Za-z0-9_@%+=:,./-]+$/;
const variable = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Linux takes no argument of more than 128 KiB, and the shell gets the command as one. */
const longestCommand = 128 * 1024 - 1;

/** What stands between single quotes for this text. Kickstart files and GRUB read quotes as a shell does. */
export const insideQuotes = (text: string): string => text.replaceAll("'", String.raw`'\''`);

/** The text in single quotes, whether it needs them or not. */
export const inQuotes = (text: string): string => `'${insideQuotes(text)}'`;

/** A word for a POSIX shell, which hands it on unchanged. */
export function quoteWord(word: string): string {
  checkText(word, 'an argument');
  return plain.test(word) ? word : inQuotes(word);
}

/** A command line whose words are exactly these. */
export function commandLine(words: readonly string[]): string {
  const [first = '', ...rest] = words;
  // Between quotes it is neither an assignment nor a keyword of the shell.
  checkText(first, 'an argument');
  return [inQuotes(first), ...rest.map(quoteWord)].join(' ');
}

/** The command with these variables in its environment, whatever their values hold. */
export function withEnvironment(environment: Readonly<Record<string, string>>, command: string): string {
  const settings = Object.entries(environment).map(([name, value]) => {
    if (!variable.test(name)) throw new Fault('malformed', `${JSON.stringify(name)} is not the name of a variable.`);
    checkText(value, `the value of ${name}`);
    return `${name}=${inQuotes(value)}`;
  });
  return settings.length === 0 ? command : `export ${settings.join(' ')}; ${command}`;
}

export function checkCommand(command: string): void {
  checkText(command, 'the command');
  const size = Buffer.byteLength(command);
  if (size > longestCommand) {
    throw new Fault(
      'malformed',
      `the command is ${size} bytes long with its variables, and a node takes at most ${longestCommand}.`,
    );
  }
}

/** Refuses what neither the name of a file nor an argument can be. */
export function checkText(text: string, what: string): void {
  if (text.includes('\0')) throw new Fault('malformed', `${what} contains a null byte, which no program can be given.`);
  if (!text.isWellFormed()) throw new Fault('malformed', `${what} is not valid Unicode.`);
}
