import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../../core/files.ts';
import { home } from '../../core/home.ts';

const shipped = join(home, 'share/postscripts');
const mark = '# Shipped with muster';

/** Puts the scripts that lists of the reference system count on into the directory of the scripts. What the site has there stays. */
export function placeStockScripts(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(shipped)) {
    const text = readFileSync(join(shipped, name), 'utf8');
    const there = textOf(join(directory, name));
    if (there === undefined || (there !== text && there.includes(mark)))
      writeFileAtomically(join(directory, name), text, 0o755);
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    // Whatever it is, it is not ours.
    return '';
  }
}
