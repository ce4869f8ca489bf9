import { closeSync, lstatSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomically } from '../core/files.ts';
import { groupName, isNodeName } from '../core/object-names.ts';
import { Garbled } from './errors.ts';
import { oneLine } from './output.ts';

/** A name that a server sent and that is safe in a path, in a file of another program and on a command line. */
export type CheckedName = string & { readonly [checked]: true };
declare const checked: unique symbol;

const longestShown = 60;

/** muster has no other names. Whatever sends one is not muster, or not the server that was meant, so the command stops. */
function checker(what: string, isName: (name: string) => boolean): (name: string) => CheckedName {
  return (name) => {
    if (typeof name === 'string' && isName(name)) return name as CheckedName;
    const shown = oneLine(JSON.stringify(name)?.slice(0, longestShown) ?? 'nothing');
    throw new Garbled(
      `The server sent ${shown} as the name of a ${what}, and muster has no such names. Check which server answers: muster doctor`,
    );
  };
}

export const nodeFromServer = checker('node', isNodeName);
export const groupFromServer = checker('group', (name) => groupName.test(name));
export const tableFromServer = checker('table', (name) => /^[A-Za-z]\w*$/.test(name));

/** Where the user wants files, each with a name of the server's in its own. */
export interface ServerFiles {
  readonly directory: string;
  readonly before?: string;
  readonly after?: string;
  /** The user agreed that files which are there already are replaced. */
  readonly replace: boolean;
  readonly mode: number;
}

/** A file is in the way. The message says which, and what to do. */
export class InTheWay extends Error {}

export const serverFile = (
  { directory, before = '', after = '' }: Omit<ServerFiles, 'replace'>,
  name: CheckedName,
): string => join(directory, `${before}${name}${after}`);

/** Refuses if something is there that must not be replaced. */
export function checkFree(
  files: ServerFiles,
  name: CheckedName,
  kind: 'plain file' | 'directory' = 'plain file',
): void {
  const file = serverFile(files, name);
  const there = lstatSync(file, { throwIfNoEntry: false });
  if (there && !(kind === 'directory' ? there.isDirectory() : there.isFile()))
    throw new InTheWay(`${file} is there already and is no ${kind}. Remove it, or name another directory.`);
  if (there && !files.replace)
    throw new InTheWay(`${file} is there already. Name another directory, or replace it with --replace.`);
}

/** The only way in which the command line writes files that a server named: into this directory, through no link, over nothing unasked. */
export function writeServerFile(files: ServerFiles, name: CheckedName, content: string | Uint8Array): void {
  checkFree(files, name);
  const file = serverFile(files, name);
  if (files.replace) return writeFileAtomically(file, content, files.mode);
  // Fails for whatever has come there since, a link too.
  const handle = openSync(file, 'wx', files.mode);
  try {
    writeFileSync(handle, content);
  } catch (error) {
    rmSync(file, { force: true });
    throw error;
  } finally {
    closeSync(handle);
  }
}
