import { Fault } from '../../../core/errors.ts';
import { tableNamed } from '../../../database/tables.ts';
import type { EffectiveReader } from '../../../objects/effective.ts';
import { encodedWord } from '../script-words.ts';

const storageTable = tableNamed('storage');

/**
 * Which disk an image is written to, as the initial RAM disk is told; from the node's `osvolume`. Only a disk that is named is taken
 * whatever is on it: without a name (`auto`) it must be empty, or one that muster wrote before.
 */
export function diskArgument(osvolume: string | undefined): string {
  if (osvolume === undefined || osvolume === '' || osvolume === 'localdisk') return 'auto';
  if (/^\/dev\/[a-z][A-Za-z0-9]*$/.test(osvolume)) return osvolume;
  if (/^(wwn|serial)=[A-Za-z0-9_.:-]+$/.test(osvolume)) return osvolume;
  throw new Fault(
    'invalid',
    `The attribute osvolume ${JSON.stringify(osvolume)} names no disk: write localdisk (the first that is empty or was written by muster), /dev/NAME, wwn=NUMBER or serial=NUMBER.`,
  );
}

/** What the initial RAM disk is told where the image goes to a disk; `added` are further words of the kernel's command line. */
export function diskArguments(reader: EffectiveReader, node: string, added: readonly string[]): string[] {
  // `R::word` is for the kernel that starts from the disk.
  const words = added.flatMap((text) => text.split(' ')).filter((word) => word.startsWith('R::'));
  const kept = words.map((word) => word.slice('R::'.length)).join(' ');
  return [
    'muster.root=disk',
    `muster.disk=${diskArgument(reader.row(storageTable, node)?.['osvolume'])}`,
    ...(kept === '' ? [] : [`muster.kernel=${encodedWord(kept)}`]),
  ];
}
