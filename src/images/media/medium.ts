import { Fault } from '../../core/errors.ts';
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

/** Distributions whose packages and installers are alike. */
export type Family = 'debian' | 'ubuntu' | 'redhat' | 'suse';

/** What a medium holds. All parts come from strict patterns, since they become names and paths. */
export interface Release {
  readonly family: Family;
  /** `rocky`, as names of operating systems begin. */
  readonly base: string;
  /** `9.6` */
  readonly version: string;
  readonly arch: string;
  /** Which of several discs. */
  readonly disc: number;
}

/** How the media of a family are known. */
export interface Recogniser {
  /** What is looked for, for those whose medium is not known. */
  readonly looksFor: string;
  recognise(medium: Medium): Release | undefined;
}

const archNames: Readonly<Record<string, string>> = {
  amd64: 'x86_64',
  x86_64: 'x86_64',
  arm64: 'aarch64',
  aarch64: 'aarch64',
  i386: 'x86',
  i486: 'x86',
  i586: 'x86',
  i686: 'x86',
  ppc: 'ppc64',
  ppc64: 'ppc64',
  ppc64le: 'ppc64le',
  ppc64el: 'ppc64el',
  riscv64: 'riscv64',
  s390x: 's390x',
};

/** The name an architecture has here, if it is one. */
export const archNamed = (text: string): string | undefined =>
  Object.hasOwn(archNames, text) ? archNames[text] : undefined;

export const knownArchs: readonly string[] = [...new Set(Object.values(archNames))];

/** `12.12.0` is `12.12`: a third number that is 0 says nothing. */
export const shortVersion = (version: string): string => version.replace(/^(\d+\.\d+)\.0$/, '$1');

export const versionPattern = /^\d{1,4}(\.\d{1,4}){0,2}$/;
