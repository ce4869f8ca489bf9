/** A part of something that is sent: bytes, or a whole file of that size. */
export type Piece = Buffer | { readonly path: string; readonly size: number };

/** Bytes that are made when they are asked for. */
export interface Pieces {
  readonly pieces: readonly Piece[];
  readonly size: number;
}

/** A file below a directory, in capitals: `BOOT/GRUB/GRUB.CFG`. */
export interface IsoFile {
  readonly path: string;
  readonly content: Piece;
}

export const sizeOf = (piece: Piece): number => (Buffer.isBuffer(piece) ? piece.length : piece.size);

const block = 2_048;
/** Where El Torito says its sectors are of another size. */
const bootSector = 512;
const blocksOf = (size: number): number => Math.ceil(size / block);

interface Directory {
  readonly name: string;
  readonly parent: Directory | undefined;
  readonly directories: Directory[];
  readonly files: { readonly name: string; readonly content: Piece; at: number }[];
  at: number;
}

/** The first blocks are the system's; behind them come descriptors, path tables and the catalog of what boots. */
const firstDescriptor = 16;
const tables = { little: 19, big: 20, catalog: 21 } as const;
const firstDirectory = 22;

/**
 * An ISO 9660 image (ECMA-119, level 1) that UEFI starts by El Torito from `efi`, a FAT file system. Each directory fits a block. Files that
 * lie on disk are not read: the image names them, so it costs no room.
 */
export function isoImage(files: readonly IsoFile[], efi: Buffer, made: Date): Pieces {
  const root: Directory = { name: '\0', parent: undefined, directories: [], files: [], at: 0 };
  for (const { path, content } of files) {
    const names = path.split('/');
    const name = names.pop()!;
    const directory = names.reduce((inside, each) => directoryIn(inside, each), root);
    directory.files.push({ name: name.includes('.') ? `${name};1` : `${name}.;1`, content, at: 0 });
  }
  const all = inOrder(root);
  let next = firstDirectory;
  for (const directory of all) directory.at = next++;
  const efiAt = next;
  next += blocksOf(efi.length);
  const contents = all.flatMap(({ files: inside }) => inside);
  for (const file of contents) {
    file.at = next;
    next += blocksOf(sizeOf(file.content));
  }
  const pathTables = [pathTable(all, 'little'), pathTable(all, 'big')];
  const head = Buffer.concat([
    Buffer.alloc(firstDescriptor * block),
    primaryDescriptor(next, pathTables[0]!.length, root, made),
    bootDescriptor(),
    terminator(),
    ...pathTables.map((table) => padded(table)),
    catalog(efiAt, efi.length),
    ...all.map((directory) => padded(recordsOf(directory, made))),
    padded(efi),
  ]);
  const rest = contents.flatMap(({ content }): Piece[] => {
    const missing = blocksOf(sizeOf(content)) * block - sizeOf(content);
    return [content, ...(missing > 0 ? [Buffer.alloc(missing)] : [])];
  });
  return { pieces: [head, ...rest], size: next * block };
}

function directoryIn(inside: Directory, name: string): Directory {
  const known = inside.directories.find((each) => each.name === name);
  if (known) return known;
  const made: Directory = { name, parent: inside, directories: [], files: [], at: 0 };
  inside.directories.push(made);
  inside.directories.sort((a, b) => (a.name < b.name ? -1 : 1));
  return made;
}

/** As path tables have them: level by level. */
function inOrder(root: Directory): readonly Directory[] {
  const all: Directory[] = [];
  for (let level = [root]; level.length > 0; level = level.flatMap(({ directories }) => directories))
    all.push(...level);
  return all;
}

function padded(bytes: Buffer): Buffer {
  const result = Buffer.alloc(Math.max(1, blocksOf(bytes.length)) * block);
  bytes.copy(result);
  return result;
}

/** Both byte orders, one behind the other. */
function both(bytes: Buffer, at: number, value: number, width: 2 | 4): void {
  bytes.writeUIntLE(value, at, width);
  bytes.writeUIntBE(value, at + width, width);
}

function recordsOf(directory: Directory, made: Date): Buffer {
  const files = directory.files.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return Buffer.concat([
    record('\0', directory.at, block, true, made),
    record('\x01', (directory.parent ?? directory).at, block, true, made),
    ...directory.directories.map(({ name, at }) => record(name, at, block, true, made)),
    ...files.map(({ name, at, content }) => record(name, at, sizeOf(content), false, made)),
  ]);
}

function record(name: string, at: number, size: number, isDirectory: boolean, made: Date): Buffer {
  const bytes = Buffer.alloc(33 + name.length + (name.length % 2 === 0 ? 1 : 0));
  bytes.writeUInt8(bytes.length, 0);
  both(bytes, 2, at, 4);
  both(bytes, 10, size, 4);
  Buffer.from([
    made.getUTCFullYear() - 1_900,
    made.getUTCMonth() + 1,
    made.getUTCDate(),
    made.getUTCHours(),
    made.getUTCMinutes(),
    made.getUTCSeconds(),
    0,
  ]).copy(bytes, 18);
  bytes.writeUInt8(isDirectory ? 2 : 0, 25);
  both(bytes, 28, 1, 2);
  bytes.writeUInt8(name.length, 32);
  bytes.write(name, 33, 'latin1');
  return bytes;
}

function pathTable(all: readonly Directory[], order: 'little' | 'big'): Buffer {
  return Buffer.concat(
    all.map(({ name, at, parent }) => {
      const bytes = Buffer.alloc(8 + name.length + (name.length % 2));
      const parentNumber = parent ? all.indexOf(parent) + 1 : 1;
      bytes.writeUInt8(name.length, 0);
      if (order === 'little') bytes.writeUInt32LE(at, 2);
      else bytes.writeUInt32BE(at, 2);
      if (order === 'little') bytes.writeUInt16LE(parentNumber, 6);
      else bytes.writeUInt16BE(parentNumber, 6);
      bytes.write(name, 8, 'latin1');
      return bytes;
    }),
  );
}

function descriptor(type: number): Buffer {
  const bytes = Buffer.alloc(block);
  bytes.writeUInt8(type, 0);
  bytes.write('CD001', 1, 'latin1');
  bytes.writeUInt8(1, 6);
  return bytes;
}

const terminator = (): Buffer => descriptor(255);

function primaryDescriptor(blocks: number, tableSize: number, root: Directory, made: Date): Buffer {
  const bytes = descriptor(1);
  bytes.fill(0x20, 8, 72);
  bytes.write('MUSTER', 40, 'latin1');
  both(bytes, 80, blocks, 4);
  both(bytes, 120, 1, 2);
  both(bytes, 124, 1, 2);
  both(bytes, 128, block, 2);
  both(bytes, 132, tableSize, 4);
  bytes.writeUInt32LE(tables.little, 140);
  bytes.writeUInt32BE(tables.big, 148);
  record('\0', root.at, block, true, made).copy(bytes, 156);
  bytes.fill(0x20, 190, 813);
  const stamp = `${made.toISOString().replaceAll(/\D/g, '').slice(0, 16)}\0`;
  for (const at of [813, 830]) bytes.write(stamp, at, 'latin1');
  for (const at of [847, 864]) bytes.write(`${'0'.repeat(16)}\0`, at, 'latin1');
  bytes.writeUInt8(1, 881);
  return bytes;
}

/** El Torito 1.0, 2.0: where the catalog is. */
function bootDescriptor(): Buffer {
  const bytes = descriptor(0);
  bytes.write('EL TORITO SPECIFICATION', 7, 'latin1');
  bytes.writeUInt32LE(tables.catalog, 71);
  return bytes;
}

const efiPlatform = 0xef;
const isBootable = 0x88;

/** One entry, for UEFI, which starts the file system as it is. */
function catalog(at: number, size: number): Buffer {
  const bytes = Buffer.alloc(block);
  bytes.writeUInt8(1, 0);
  bytes.writeUInt8(efiPlatform, 1);
  bytes.write('muster', 4, 'latin1');
  bytes.writeUInt16LE(0xaa55, 30);
  let sum = 0;
  for (let word = 0; word < 32; word += 2) sum += bytes.readUInt16LE(word);
  bytes.writeUInt16LE(-sum & 0xffff, 28);
  bytes.writeUInt8(isBootable, 32);
  bytes.writeUInt16LE(Math.min(Math.ceil(size / bootSector), 0xffff), 38);
  bytes.writeUInt32LE(at, 40);
  return bytes;
}
