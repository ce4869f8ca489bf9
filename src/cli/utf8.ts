import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { otherBytes } from './bytes.ts';
import { UsageError } from './errors.ts';

/** The text of a file or of standard input that is to be stored. */
export function utf8Text(bytes: Buffer, name: string): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  const at = otherBytes(bytes).next().value!;
  const line = bytes.subarray(0, at).toString('latin1').split('\n').length;
  const byte = bytes[at]!.toString(16).padStart(2, '0');
  throw new UsageError(
    `${name} is not UTF-8 text: line ${line} has the byte 0x${byte}. Convert it, for example: iconv -f ISO-8859-1 -t UTF-8`,
  );
}

export function textOfFile(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}.`);
  }
  return utf8Text(bytes, file);
}

/** Arguments come as texts already, in which replacement characters stand for other bytes. */
export function checkArguments(words: readonly string[]): void {
  const word = words.find((each) => each.includes('\uFFFD'));
  // Some mean the character itself.
  if (word === undefined || isUtf8(readFileSync('/proc/self/cmdline'))) return;
  throw new UsageError(
    `The argument "${word}" is not UTF-8 text, so nothing was done. Check the locale of the terminal.`,
  );
}
