import { Fault } from '../../core/errors.ts';
import { quoteWord } from '../../core/shell-words.ts';
import { readVolumeBytes } from '../../protocols/libvirt/calls/storage.ts';
import type { Hypervisor } from './hypervisor.ts';
import type { MachineDisk } from './machine-disks.ts';
import { volumeAt } from './pools.ts';

/** A snapshot as a qcow2 image has it. QEMU finds it by either, the ID first. */
interface HeldSnapshot {
  readonly id: string;
  readonly name: string;
}

const magic = 0x51_46_49_fb;
/** Where the header has the number of snapshots, and the place of their table. */
const countAt = 60;
const tableAt = 64;
const headerLength = 72;
/** Bytes of an entry before what is of any length, and where it has these lengths. */
const entryLength = 40;
const [idLengthAt, nameLengthAt, extraLengthAt] = [12, 14, 36];
/** Bytes that are read of a table for each of its entries, and at most. */
const usualEntry = 1024;
const longestTable = 16 * 1024 * 1024;

/** The snapshots inside an image, also those that libvirt has forgotten. An image that is not there, or is not qcow2, has none. */
async function heldSnapshots(
  hypervisor: Hypervisor,
  { device, path }: MachineDisk,
  signal: AbortSignal,
): Promise<readonly HeldSnapshot[]> {
  const volume = await volumeAt(hypervisor, path, signal);
  if (!volume) return [];
  const { connection } = hypervisor;
  const header = await readVolumeBytes(connection, volume, 0n, headerLength, { signal });
  if (header.length < headerLength || header.readUInt32BE(0) !== magic) return [];
  const count = header.readUInt32BE(countAt);
  if (count === 0) return [];
  const length = Math.min((count + 1) * usualEntry, longestTable);
  const table = await readVolumeBytes(connection, volume, header.readBigUInt64BE(tableAt), length, { signal });
  const held = entriesIn(table, count);
  if (held) return held;
  throw new Fault('invalid', `its disk ${device}, ${path}, has a table of snapshots that muster cannot read.`);
}

/** Undefined: it is longer than what was read of it. */
export function entriesIn(table: Buffer, count: number): readonly HeldSnapshot[] | undefined {
  const found: HeldSnapshot[] = [];
  let at = 0;
  while (found.length < count) {
    if (at + entryLength > table.length) return undefined;
    const idAt = at + entryLength + table.readUInt32BE(at + extraLengthAt);
    const nameAt = idAt + table.readUInt16BE(at + idLengthAt);
    const end = nameAt + table.readUInt16BE(at + nameLengthAt);
    if (end > table.length) return undefined;
    found.push({ id: table.toString('utf8', idAt, nameAt), name: table.toString('utf8', nameAt, end) });
    at = Math.ceil(end / 8) * 8;
  }
  return found;
}

const answersTo =
  (name: string) =>
  (snapshot: HeldSnapshot): boolean =>
    snapshot.name === name || snapshot.id === name;

export const holdsSnapshot = async (
  hypervisor: Hypervisor,
  disk: MachineDisk,
  name: string,
  signal: AbortSignal,
): Promise<boolean> => (await heldSnapshots(hypervisor, disk, signal)).some(answersTo(name));

/** Refuses a name that more snapshots inside a disk answer to than libvirt knows: QEMU would take whichever comes first. */
export async function refuseAmbiguous(
  hypervisor: Hypervisor,
  disks: readonly MachineDisk[],
  name: string,
  known: number,
  signal: AbortSignal,
): Promise<void> {
  for (const disk of disks.filter(({ format }) => format === 'qcow2')) {
    const held = await heldSnapshots(hypervisor, disk, signal);
    const other = held.filter(answersTo(name))[known];
    if (other)
      throw new Fault('invalid', [
        `its disk ${disk.device} already holds a snapshot ${name} that libvirt does not know, which an earlier machine may have left.`,
        `Use another name, or switch the machine off and delete the old snapshot on ${hypervisor.host} with "qemu-img snapshot -d ${quoteWord(name)} ${quoteWord(disk.path)}".`,
      ]);
  }
}
