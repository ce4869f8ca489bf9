import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { quoteWord } from '../../core/shell-words.ts';
import type { EffectiveReader } from '../../objects/effective.ts';
import { shippedImageFiles } from '../../core/home.ts';
import { diskOf } from '../decision.ts';
import { diskArgument } from '../ramdisk.ts';
import { given, type Value } from './installer.ts';

/** The disk that `osvolume` of a node names; empty: the first one. A Fault says that what is written there names no disk. */
export function wantedDisk(reader: EffectiveReader, node: string): Value {
  const argument = diskArgument(diskOf(reader, node));
  return given(argument === 'auto' ? '' : argument, `${node}: osvolume`);
}

/** Shell lines that find the disk in `$wanted` on the machine and leave its name in `$disk`. */
export const choosingLines = (): string[] =>
  readFileSync(join(shippedImageFiles, 'choose-disk.sh'), 'utf8').trimEnd().split('\n');

/** The script by which a machine finds its disk itself, since each installer knows disks by other names; then it does the lines. */
export const diskScript = ({ value }: Value, ...then: readonly string[]): string =>
  [`wanted=${quoteWord(value)}`, ...choosingLines(), ...then, ''].join('\n');

/** Stands for the disk in answers until the script has found it. An installer that still reads this finds no disk, and stops. */
export const chosenDisk = '/dev/muster-chosen';

/** A template of the site's own must run the script, or no disk would be found. */
export function checkChosen(text: string, place: string): string {
  if (!text.includes(chosenDisk) || text.includes('/disk.sh')) return text;
  throw new Fault(
    'invalid',
    `The template has #PARTITIONS#, but nothing that finds the disk: add #CHOOSE_DISK# ${place}, as the template of muster has it.`,
  );
}
