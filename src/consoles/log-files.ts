import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Turns } from '../core/waiting.ts';
import type { ConsoleSettings } from './settings.ts';

const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/** Bytes of a file that are read at most: it may have been another's setting that bounded it. */
const mostRead = 64 << 20;

export interface LogBounds extends Pick<ConsoleSettings, 'logSize' | 'logsKept'> {}

/** The log of one console: a file that is written and some that are full. No file stays open. */
export class LogFiles {
  readonly #path: string;
  readonly #bounds: LogBounds;
  readonly #turns = new Turns();
  #size: number | undefined;

  constructor(directory: string, node: string, bounds: LogBounds) {
    this.#path = join(directory, `${fileName(node)}.log`);
    this.#bounds = bounds;
  }

  append(text: string): Promise<void> {
    return this.#turns.take(() => this.#append(Buffer.from(text)));
  }

  /** Resolves when all that was given is written, or could not be. */
  settled(): Promise<void> {
    return this.#turns.take(() => Promise.resolve());
  }

  /** The newest first; those that ended before that time are left out. */
  async *newestFirst(since = 0): AsyncGenerator<string> {
    for (let number = 0; number <= this.#bounds.logsKept; number++) {
      const path = number === 0 ? this.#path : `${this.#path}.${number}`;
      const found = await stat(path).catch(() => undefined);
      if (found === undefined) {
        if (number > 0) return;
        continue;
      }
      if (found.mtimeMs < since || found.size > mostRead || !found.isFile()) return;
      // It may have become the one before meanwhile.
      yield await readFile(path, 'utf8').catch(() => '');
    }
  }

  async #append(bytes: Buffer): Promise<void> {
    this.#size ??= (await stat(this.#path).catch(() => undefined))?.size ?? 0;
    if (this.#size > 0 && this.#size + bytes.length > this.#bounds.logSize) await this.#rotate();
    const file = await open(this.#path, appending, 0o600);
    try {
      await file.writeFile(bytes);
      this.#size += bytes.length;
    } catch (error) {
      this.#size = undefined;
      throw error;
    } finally {
      await file.close();
    }
  }

  async #rotate(): Promise<void> {
    const { logsKept } = this.#bounds;
    for (let number = logsKept; number > 0; number--) {
      const from = number === 1 ? this.#path : `${this.#path}.${number - 1}`;
      await rename(from, `${this.#path}.${number}`).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
    this.#size = 0;
  }
}

/** Names of nodes have none of these; a table may. */
const fileName = (node: string): string => encodeURIComponent(node).replaceAll('*', '%2A').replace(/^\./, '%2E');

function nodeOf(file: string): string[] {
  try {
    return [decodeURIComponent(file)];
  } catch {
    return [];
  }
}

/** The nodes of which there are logs. */
export async function nodesLogged(directory: string): Promise<string[]> {
  const files = await readdir(directory).catch((): string[] => []);
  return files.flatMap((file) => (file.endsWith('.log') ? nodeOf(file.slice(0, -'.log'.length)) : []));
}

export const makeLogDirectory = (directory: string): Promise<unknown> =>
  mkdir(directory, { recursive: true, mode: 0o700 });
