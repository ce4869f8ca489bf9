import { readFileSync } from 'node:fs';

/** How many files, sockets among them, this process may have open at a time. */
export function fileLimit(): number {
  const files = /^Max open files\s+(\d+)/m.exec(limits())?.[1];
  return files === undefined ? Number.POSITIVE_INFINITY : Number(files);
}

function limits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1');
  } catch {
    // Not every system says.
    return '';
  }
}
