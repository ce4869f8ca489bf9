import type { Sources } from '../../access/file-sources.ts';
import { Fault, type FaultData, orFault } from '../../core/errors.ts';
import { openReal } from '../../core/open-real.ts';

/** Says of a failure what it was that failed. */
export async function naming<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(error.kind, `${what}: ${error.message}`, { cause: error });
  }
}

/** Work on a file of this machine, whose failure names its path. */
export function reading<T>(path: string | Buffer, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (error instanceof Fault) throw error;
    throw new Fault('invalid', `${path.toString()} cannot be read: ${(error as Error).message}.`, { cause: error });
  });
}

/** What was looked for, each once, or why it was not found: as plain data that many nodes share. */
export class Findings<T> {
  readonly all: Record<string, T | FaultData> = {};
  readonly #looking = new Map<string, Promise<void>>();

  /** Resolves when it is among them. */
  find(key: string, look: () => Promise<T>): Promise<void> {
    let looking = this.#looking.get(key);
    if (!looking) this.#looking.set(key, (looking = this.#look(key, look)));
    return looking;
  }

  async #look(key: string, look: () => Promise<T>): Promise<void> {
    this.all[key] = await orFault(look());
  }
}

/** Bytes of a list; whoever names an image of a disk instead shall not fill the memory with it. */
const longest = 4 * 1024 * 1024;

export function readList(sources: Sources, path: string): Promise<string> {
  return readRealText(sources.admit(path), path);
}

/** The same of a list whose path was judged before. */
export const readRealText = (real: string, path: string): Promise<string> => reading(path, readText(real, path));

async function readText(real: string, path: string): Promise<string> {
  const file = await openReal(real);
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > longest)
      throw new Fault('invalid', `${path} cannot be read: it is not a file of at most ${longest} bytes.`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** What is reported of a node, as the reference system words it. Replies for many nodes say some of it once for all. */
export const noSyncFiles = 'There were no syncfiles defined to process. File synchronization has completed.';
export const filesSynced = 'File synchronization has completed.';
export const softwareBegins =
  'Performing software maintenance operations. This could take a while, if there are packages to install.';
export const softwareDone = 'Running of Software Maintenance has completed.';
export const scriptsDone = 'Running of postscripts has completed.';

const syncedFor = (nodes: readonly string[]): string =>
  `File synchronization has completed for nodes: "${nodes.join(',')}"`;

/** The lines of nodes as one list: what is true of many is said once, the rest with the node's name before it. */
export function messagesOf(lines: ReadonlyMap<string, readonly string[]>): string[] {
  const nodes = [...lines.keys()].sort();
  const having = (line: string): string[] => nodes.filter((node) => lines.get(node)!.includes(line));
  const synced = having(filesSynced);
  const common = [
    ...(synced.length === 0 && having(noSyncFiles).length > 0 ? [noSyncFiles] : []),
    ...(synced.length > 0 ? [syncedFor(synced)] : []),
    ...(having(softwareBegins).length > 0 ? [softwareBegins] : []),
  ];
  const said = new Set([filesSynced, softwareBegins, ...(synced.length === 0 ? [noSyncFiles] : [])]);
  const own = nodes.flatMap((node) => lines.get(node)!.flatMap((line) => (said.has(line) ? [] : `${node}: ${line}`)));
  return [...common, ...own];
}
