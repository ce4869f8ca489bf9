import { createHash } from 'node:crypto';
import { join as joinPath } from 'node:path';
import type { RemoteFiles } from '../../protocols/ssh/sftp/files.ts';
import { makeDirectories, putLink } from '../remote/deliver.ts';

/**
 * Scripts that have to run on a node, remembered there before the change they are run for until they have succeeded. So the next
 * update runs what this one could not. Each is a link to the script's source, for those who look.
 */
export class DueScripts {
  readonly #files: RemoteFiles;
  readonly #directory: string;

  constructor(files: RemoteFiles, storage: string) {
    this.#files = files;
    this.#directory = joinPath(storage, 'due');
  }

  async add(script: string): Promise<void> {
    await makeDirectories(this.#files, Buffer.from(this.#directory));
    await putLink(this.#files, this.#mark(script), Buffer.from(script));
  }

  async has(script: string): Promise<boolean> {
    return (await this.#files.lstat(this.#mark(script))) !== undefined;
  }

  remove(script: string): Promise<void> {
    return this.#files.remove(this.#mark(script));
  }

  /** A path may be longer than a name can be. */
  #mark(script: string): Buffer {
    return Buffer.from(joinPath(this.#directory, createHash('sha256').update(script).digest('hex')));
  }
}
