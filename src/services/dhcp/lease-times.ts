import { type FileHandle, open } from 'node:fs/promises';

/** Of each file so much of its end is read: a line for each of some 40,000 answers. */
const mostBytes = 4_194_304;

/**
 * When machines were given an address, by their MAC addresses, the oldest first. Kea appends a line to its file each time; what is older
 * than its last cleaning is in the file beside it, the latest time of each lease alone. Undefined: there is no file that could be read.
 */
export async function leaseTimes(file: string, macs: ReadonlySet<string>): Promise<Map<string, Date[]> | undefined> {
  const ends = await Promise.all([endOf(`${file}.2`), endOf(file)]);
  if (ends[1] === undefined) return undefined;
  const times = new Map<string, Date[]>();
  for (const line of ends.flatMap((end) => end?.text.split('\n') ?? [])) {
    const [, mac = '', , lifetime = '', expires = '', ...more] = line.split(',');
    // The last line may be cut off; a lifetime of 0 is the end of a lease.
    if (more.length === 0 || !macs.has(mac) || !/^[1-9]\d*$/.test(lifetime) || !/^\d+$/.test(expires)) continue;
    const at = new Date((Number(expires) - Number(lifetime)) * 1_000);
    const known = times.get(mac);
    if (known) known.push(at);
    else times.set(mac, [at]);
  }
  return times;
}

export interface FileEnd {
  readonly text: string;
  /** Which file it is: another one may have its name by now. */
  readonly inode: number;
  /** Where the text ends. */
  readonly position: number;
}

/** What stands in a file behind a position, the end of it if that is much; undefined: it cannot be read. */
export async function endOf(path: string, from = 0): Promise<FileEnd | undefined> {
  let file: FileHandle;
  try {
    file = await open(path);
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
  try {
    const { size, ino: inode } = await file.stat();
    const length = Math.min(Math.max(0, size - from), mostBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return { text: buffer.toString('latin1', 0, bytesRead), inode, position: size - length + bytesRead };
  } finally {
    await file.close();
  }
}
