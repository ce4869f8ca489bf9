import { realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';

/** The directory whose scripts are run on nodes. */
export class ScriptDirectory {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Its real path; undefined if there is none. */
  get path(): string | undefined {
    try {
      const path = realpathSync(this.#directory);
      return statSync(path).isDirectory() ? path : undefined;
    } catch {
      return undefined;
    }
  }

  /** Whether a script of that name is in it. */
  has(name: string): boolean {
    const { path } = this;
    if (path === undefined || name === '' || name.includes('\0') || name.startsWith('/')) return false;
    // What leads back here need not do so on a node.
    if (name.split('/').includes('..')) return false;
    try {
      const file = realpathSync(join(path, name));
      return file.startsWith(path + sep) && statSync(file).isFile();
    } catch {
      return false;
    }
  }
}
