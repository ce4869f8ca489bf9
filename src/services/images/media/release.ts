import type { Medium } from './medium.ts';

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
