import { Fault } from '../../core/errors.ts';
import { familyOf, installerProblem, majorOf } from '../../objects/distributions.ts';
import type { NodeImage } from '../../objects/node-image.ts';
import type { InstallFacts } from './facts.ts';

export type InstallerName = 'kickstart' | 'preseed' | 'autoinstall' | 'autoyast';

/** Lines of an answer file. */
export type Block = readonly (readonly Piece[])[];

/** What an image says about partitions, read from the files it names. */
export interface Partitions {
  /** In the language of the installer. */
  readonly definition?: Block;
  /** More lines of the answer file. */
  readonly answers?: Block;
  /** The disk that is installed to. */
  readonly disk?: string;
  /** Scripts that the node runs: one writes the definition to /tmp/partitionfile, one the disk to /tmp/install_disk. */
  readonly script?: string;
  readonly diskScript?: string;
}

export interface AnswerFile {
  readonly name: string;
  readonly text: string;
}

/** How one kind of installer is answered. */
export interface Installer {
  readonly name: InstallerName;
  /** The file that is made from the template. */
  readonly file: string;
  write(pieces: readonly Piece[]): string | Promise<string>;
  /** What stands for `#NAME#`. */
  readonly blocks: Readonly<Record<string, (facts: InstallFacts) => Block>>;
  partitions(partitions: Partitions, facts: InstallFacts): Block;
  /** Names of packages as a list of them is written, `@name` being a group. */
  packages(names: readonly string[]): Block;
  groups(names: readonly string[]): Block;
  removed(names: readonly string[]): Block;
  /** What stands behind the template, whoever wrote it. */
  end?(partitions: Partitions, facts: InstallFacts): Block;
  /** Files beside it. */
  others?(partitions: Partitions, facts: InstallFacts): readonly AnswerFile[] | Promise<readonly AnswerFile[]>;
}

/** Which installer brings an operating system to a disk; a Fault says that muster does not answer it. */
export function installerOf(image: NodeImage): InstallerName {
  const problem = installerProblem(image.os);
  if (problem !== undefined) throw new Fault('invalid', `${image.name}: ${problem}`);
  const family = familyOf(image.os);
  if (family === 'dnf') return 'kickstart';
  if (family === 'zypper') return 'autoyast';
  return image.os.startsWith('ubuntu') && majorOf(image.os) >= 20 ? 'autoinstall' : 'preseed';
}

export { majorOf };

/** A partition file that this installer has no use for. */
export const unusable = (what: string, instead: string): Fault =>
  new Fault('invalid', `partitionfile: ${what}; ${instead}.`);

/** A value that somebody gave: wherever it is written, it must stay one value. */
export interface Value {
  readonly value: string;
  /** Where it comes from, for sentences about it. */
  readonly from: string;
  /** No sentence names a secret: sentences go to screens, logs and whoever asked. */
  readonly isSecret?: boolean;
}

/** A part of an answer file: text that stands there as it is, or a value. */
export type Piece = string | Value;

export const given = (value: string, from: string): Value => ({ value, from });

export const givenSecret = (value: string, from: string): Value => ({ value, from, isSecret: true });

/** Text with values in it, and with other such texts. */
export function pieces(strings: TemplateStringsArray, ...values: readonly (Value | readonly Piece[])[]): Piece[] {
  return strings.flatMap((text, index) => {
    const value = values[index];
    return value === undefined ? [text] : 'value' in value ? [text, value] : [text, ...value];
  });
}

/** Lines of text, each with its end. */
export const lines = (...each: readonly (readonly Piece[])[]): Piece[] => each.flatMap((line) => [...line, '\n']);
