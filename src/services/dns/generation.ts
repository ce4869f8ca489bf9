import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { syncDirectory } from '../../core/files.ts';
import { giveTo, type Layout } from './layout.ts';

/**
 * The files of all zones as they were made at one time, in a directory of their own. named writes into them and keeps its journals
 * beside them, so they are never changed from outside: a new generation takes over by one rename of the configuration.
 */
export interface Generation {
  readonly directory: string;
  readonly serials: ReadonlyMap<string, number>;
}

const prefix = 'zones-';
const serialsFile = 'serials.json';

const numberOf = (name: string): number => Number(name.slice(prefix.length));

function generationNames({ directory }: Layout): string[] {
  return readdirSync(directory).filter((name) => /^zones-\d+$/.test(name));
}

/** Writes a generation; it is on disk and named may write there when it resolves. */
export async function writeGeneration(
  layout: Layout,
  texts: ReadonlyMap<string, string>,
  serials: ReadonlyMap<string, number>,
): Promise<Generation> {
  const number = Math.max(0, ...generationNames(layout).map(numberOf)) + 1;
  const directory = join(layout.directory, prefix + number);
  mkdirSync(directory, { mode: 0o750 });
  try {
    giveTo(directory, layout.user);
    for (const [zone, text] of texts) {
      write(join(directory, `db.${zone}`), text, layout);
      await setImmediate();
    }
    write(join(directory, serialsFile), JSON.stringify(Object.fromEntries(serials)), layout);
    syncDirectory(directory);
    syncDirectory(layout.directory);
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  return { directory, serials };
}

function write(file: string, text: string, { user }: Layout): void {
  const handle = openSync(file, 'wx', 0o640);
  try {
    writeFileSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  giveTo(file, user);
}

/** The generation that a configuration names; undefined if it names none of ours. */
export function generationOf(configuration: string, layout: Layout): Generation | undefined {
  const name = /zones-\d+(?=\/db\.)/.exec(configuration)?.[0];
  if (name === undefined) return undefined;
  const directory = join(layout.directory, name);
  try {
    const serials = JSON.parse(readFileSync(join(directory, serialsFile), 'utf8')) as Record<string, number>;
    return { directory, serials: new Map(Object.entries(serials)) };
  } catch {
    return undefined;
  }
}

export function removeGenerations(layout: Layout, except: string | undefined): void {
  for (const name of generationNames(layout)) {
    const directory = join(layout.directory, name);
    if (directory !== except) rmSync(directory, { recursive: true, force: true });
  }
}
