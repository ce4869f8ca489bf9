import { readFileSync } from 'node:fs';

/** The text of a file; undefined if it is not there or cannot be read. */
export function readOptional(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
