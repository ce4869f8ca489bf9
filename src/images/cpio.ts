/** One entry of an archive of the format newc, which the kernel unpacks as initial RAM disk. */
export interface CpioEntry {
  readonly name: string | Buffer;
  /** Type and permissions, as in stat. */
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
  /** Seconds. */
  readonly time?: number;
  /** Of a file its bytes, of a link where it leads. */
  readonly size?: number;
  /** The same number for names of one file; the content stands at the last of them. */
  readonly inode: number;
  readonly links?: number;
  readonly major?: number;
  readonly minor?: number;
}

const largest = 0xffff_ffff;
export const cpioTypes = { directory: 0o040000, file: 0o100000, link: 0o120000, character: 0o020000 } as const;
export const cpioLargest = largest;

/** What stands before the content of an entry. */
export function cpioHeader(entry: CpioEntry): Buffer {
  const name = Buffer.from(entry.name);
  const { mode, uid = 0, gid = 0, time = 0, size = 0, inode, links = 1, major = 0, minor = 0 } = entry;
  const fields = [inode, mode, uid, gid, links, Math.max(0, time), size, 0, 0, major, minor, name.length + 1, 0];
  for (const field of fields)
    if (!Number.isInteger(field) || field < 0 || field > largest)
      throw new RangeError(`An archive of the format newc cannot hold ${field} for ${name.toString()}.`);
  const head = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  return padded(Buffer.concat([Buffer.from(head, 'latin1'), name, Buffer.alloc(1)]));
}

/** What stands behind content of that many bytes. */
export const cpioPadding = (size: number): Buffer => Buffer.alloc((4 - (size % 4)) % 4);

export const cpioEnd = (): Buffer => cpioHeader({ name: 'TRAILER!!!', mode: 0, inode: 0 });

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, cpioPadding(bytes.length)]);
