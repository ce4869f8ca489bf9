import { Fault } from '../../../../core/errors.ts';
import { blockSize, type IsoFile } from './iso-file.ts';
import { type IsoRecord, readRecord } from './record.ts';
import { rockRidgeSkip } from './rock-ridge.ts';

/** How files are called: by Rock Ridge, by Joliet, or by the short names of ISO 9660 alone. */
export type Names = { readonly kind: 'rock-ridge'; readonly skip: number } | { readonly kind: 'joliet' | 'plain' };

export interface Volume {
  readonly label: string;
  readonly names: Names;
  readonly root: IsoRecord;
  /** How many blocks it has by its own account; the file may have more. */
  readonly blocks: number;
  /** All volume descriptors: with the time it was made they tell one medium from another. */
  readonly descriptors: Buffer;
}

const firstDescriptor = 16;
const mostDescriptors = 64;
const rootRecord = 156;
/** Where a descriptor has what belongs to those who made the medium, such as its MD5 sum. */
export const applicationUse = { at: firstDescriptor * blockSize + 883, length: 512 } as const;

/** The volume descriptors, of which the first that serves says where the files are. */
export function readVolume(iso: IsoFile): Volume {
  const descriptors = descriptorsOf(iso);
  const primary = descriptors.find((each) => each[0] === 1);
  if (!primary) throw noMedium(iso);
  if (primary.readUInt16LE(128) !== blockSize)
    throw new Fault('invalid', `${iso.name} has blocks of another size than ${blockSize} bytes, which are not read.`);
  const root = readRecord(iso, primary, rootRecord);
  const all = {
    label: primary.toString('latin1', 40, 72).trim(),
    blocks: primary.readUInt32LE(80),
    descriptors: Buffer.concat(descriptors),
  };
  const skip = rockRidgeSkip(
    iso,
    readRecord(iso, iso.blocks(root.block, blockSize, 'the root directory'), 0).systemUse,
  );
  if (skip !== undefined) return { ...all, names: { kind: 'rock-ridge', skip }, root };
  const joliet = descriptors.find((each) => each[0] === 2 && isJoliet(each));
  if (joliet) return { ...all, names: { kind: 'joliet' }, root: readRecord(iso, joliet, rootRecord) };
  return { ...all, names: { kind: 'plain' }, root };
}

function descriptorsOf(iso: IsoFile): Buffer[] {
  const found: Buffer[] = [];
  for (let number = 0; number < mostDescriptors; number++) {
    const position = (firstDescriptor + number) * blockSize;
    if (position + blockSize > iso.size) break;
    const descriptor = iso.read(position, blockSize, 'a volume descriptor');
    if (descriptor.toString('latin1', 1, 6) !== 'CD001') break;
    found.push(descriptor);
    if (descriptor[0] === 255) break;
  }
  return found;
}

const isJoliet = (descriptor: Buffer): boolean => /^%\/[@CE]/.test(descriptor.toString('latin1', 88, 91));

const noMedium = (iso: IsoFile): Fault =>
  new Fault('invalid', `${iso.name} is not an ISO 9660 image: it has no volume descriptor. Is the download complete?`);
