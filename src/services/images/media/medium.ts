import { Fault } from '../../../core/errors.ts';
import type { IsoFile } from './iso/iso-file.ts';
import { type MediumContents, type MediumFile, scanMedium } from './iso/scan.ts';

/** Files that say what a medium is are small; lists of checksums have a line for each file. */
const largestMarker = 256 * 1_024;
const largestList = 64 * 1_024 * 1_024;

/** A medium that was looked through; small files of it can be read by name. */
export class Medium {
  readonly iso: IsoFile;
  readonly contents: MediumContents;
  readonly #files: ReadonlyMap<string, MediumFile>;

  constructor(iso: IsoFile) {
    this.iso = iso;
    this.contents = scanMedium(iso);
    this.#files = new Map(this.contents.files.map((file) => [file.path, file]));
  }

  file(path: string): MediumFile | undefined {
    return this.#files.get(path);
  }

  /** A file that says what the medium is. */
  marker(path: string): string | undefined {
    return this.#text(path, largestMarker);
  }

  list(path: string): string | undefined {
    return this.#text(path, largestList);
  }

  #text(path: string, most: number): string | undefined {
    const file = this.#files.get(path);
    if (!file) return undefined;
    if (file.size > most)
      throw new Fault('invalid', `/${path} on ${this.iso.name} has ${file.size} bytes; at most ${most} are read.`);
    return Buffer.concat(
      file.extents.map(({ position, length }) => this.iso.read(position, length, `"${path}"`)),
    ).toString();
  }
}
