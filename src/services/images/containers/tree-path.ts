import { TarError } from '../../../protocols/tar/entry.ts';

/** What the kernel takes as one path; the tree may lie some directories deep itself. */
const longest = 3_500;

/**
 * The names on the way from the root of an image to what an archive names. A leading slash is that root; nothing leads out of it,
 * because ".." is refused.
 */
export function treePath(path: string): string[] {
  if (path.length > longest) throw new TarError(`it has a name of more than ${longest} bytes`);
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw new TarError(`the name ${shown(path)} leads out of its directory`);
  if (path.includes('\0')) throw new TarError(`the name ${shown(path)} holds a zero byte`);
  return names;
}

/** A name as the system's calls take it: text where it is plain, else its bytes. */
export const systemPath = (path: string): string | Buffer =>
  // oxlint-disable-next-line no-control-regex
  /^[\x00-\x7f]*$/.test(path) ? path : Buffer.from(path, 'latin1');

/** A name for a sentence: short, and without what a terminal would act on. */
export function shown(path: string): string {
  const text = Buffer.from(path, 'latin1').toString('utf8');
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text);
}
