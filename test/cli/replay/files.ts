import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { FileChanges } from './cases.ts';

export type Files = ReadonlyMap<string, string>;

/** Places whose files a command may change. */
const watched = ['/etc/hosts', '/root'];

/** What commands keep for themselves and nobody is promised. */
const private_ = ['/root/.config', '/root/.cache', '/root/.npm'];

export function watchedFiles(): Files {
  const found = new Map<string, string>();
  const look = (path: string): void => {
    if (private_.includes(path)) return;
    const state = lstatSync(path, { throwIfNoEntry: false });
    if (state?.isDirectory()) for (const name of readdirSync(path)) look(join(path, name));
    else if (state?.isFile()) found.set(path, readFileSync(path, 'latin1'));
  };
  for (const path of watched) look(path);
  return found;
}

export function changedFiles(before: Files, after: Files): FileChanges {
  const changes: Record<string, string | null> = {};
  for (const path of before.keys()) if (!after.has(path)) changes[path] = null;
  for (const [path, text] of after) if (before.get(path) !== text) changes[path] = text;
  return changes;
}

export function putFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const zeros = /^<(\d+) zero bytes>$/.exec(text)?.[1];
  writeFileSync(path, zeros === undefined ? text : Buffer.alloc(Number(zeros)), 'latin1');
}

/** Brings the files back to what they were. */
export function restoreFiles(files: Files): void {
  for (const [path, text] of Object.entries(changedFiles(watchedFiles(), files)))
    if (text === null) rmSync(path);
    else putFile(path, text);
}
