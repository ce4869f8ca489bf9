/** A file of the image, at `EFI/BOOT/NAME`: eight letters and three, as FAT has them. */
export interface FatFile {
  readonly name: string;
  readonly bytes: Buffer;
}

const sector = 512;
const reserved = 1;
const rootEntries = 512;
const rootSectors = (rootEntries * 32) / sector;
/** Fewer clusters make it FAT12, and more FAT32. */
const fewest = 4_200;
const most = 65_000;
const directoryMark = 0x10;
const fileMark = 0x20;
const endOfChain = 0xffff;

/**
 * A FAT16 file system with loaders in `EFI/BOOT`, where UEFI looks for what it starts from a medium. One sector a cluster; all files lie in
 * one piece. It has no times, so that the same files give the same bytes.
 */
export function fatImage(files: readonly FatFile[]): Buffer {
  const clustersOf = (size: number): number => Math.max(1, Math.ceil(size / sector));
  const used = 2 + files.reduce((sum, { bytes }) => sum + clustersOf(bytes.length), 0);
  const clusters = Math.max(fewest, used);
  if (clusters > most) throw new Error(`${clusters} clusters are too many for FAT16.`);
  const fatSectors = Math.ceil(((clusters + 2) * 2) / sector);
  const data = reserved + fatSectors + rootSectors;
  const image = Buffer.alloc((data + clusters) * sector);
  writeParameters(image, data + clusters, fatSectors);
  const table = Buffer.alloc(fatSectors * sector);
  table.writeUInt16LE(0xfff8, 0);
  table.writeUInt16LE(endOfChain, 2);
  let next = 2;
  const place = (bytes: Buffer): number => {
    const first = next;
    const count = clustersOf(bytes.length);
    for (let cluster = first; cluster < first + count; cluster++)
      table.writeUInt16LE(cluster === first + count - 1 ? endOfChain : cluster + 1, cluster * 2);
    bytes.copy(image, (data + first - 2) * sector);
    next += count;
    return first;
  };
  const [efi, boot] = [place(Buffer.alloc(sector)), place(Buffer.alloc(sector))];
  const placed = files.map(({ name, bytes }) => entry(name, fileMark, place(bytes), bytes.length));
  const root = reserved + fatSectors;
  entry('EFI', directoryMark, efi, 0).copy(image, root * sector);
  const ofDirectory = (own: number, parent: number, entries: readonly Buffer[]): void =>
    void Buffer.concat([entry('.', directoryMark, own, 0), entry('..', directoryMark, parent, 0), ...entries]).copy(
      image,
      (data + own - 2) * sector,
    );
  ofDirectory(efi, 0, [entry('BOOT', directoryMark, boot, 0)]);
  ofDirectory(boot, efi, placed);
  table.copy(image, reserved * sector);
  return image;
}

/** The BIOS parameter block, as the specification of FAT has it. */
function writeParameters(image: Buffer, sectors: number, fatSectors: number): void {
  Buffer.from([0xeb, 0x3c, 0x90]).copy(image, 0);
  image.write('MUSTER  ', 3, 'latin1');
  image.writeUInt16LE(sector, 11);
  image.writeUInt8(1, 13);
  image.writeUInt16LE(reserved, 14);
  image.writeUInt8(1, 16);
  image.writeUInt16LE(rootEntries, 17);
  image.writeUInt16LE(sectors < 65_536 ? sectors : 0, 19);
  image.writeUInt8(0xf8, 21);
  image.writeUInt16LE(fatSectors, 22);
  image.writeUInt16LE(32, 24);
  image.writeUInt16LE(2, 26);
  image.writeUInt32LE(sectors < 65_536 ? 0 : sectors, 32);
  image.writeUInt8(0x80, 36);
  image.writeUInt8(0x29, 38);
  image.writeUInt32LE(0x4d555354, 39);
  image.write('MUSTER BOOTFAT16   ', 43, 'latin1');
  image.writeUInt16LE(0xaa55, 510);
}

/** 1980-01-01, the first date that FAT knows. */
const firstDate = 0x21;

function entry(name: string, mark: number, cluster: number, size: number): Buffer {
  const bytes = Buffer.alloc(32);
  const [stem = '', extension = ''] = name.startsWith('.') ? [name] : name.split('.');
  bytes.write(stem.padEnd(8) + extension.padEnd(3), 0, 'latin1');
  bytes.writeUInt8(mark, 11);
  for (const at of [16, 18, 24]) bytes.writeUInt16LE(firstDate, at);
  bytes.writeUInt16LE(cluster, 26);
  bytes.writeUInt32LE(size, 28);
  return bytes;
}
