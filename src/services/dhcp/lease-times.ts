import { type FileHandle, open } from 'node:fs/promises';

/** Of each file so much of its end is read: a line for each of some 40,000 answers. */
const mostBytes = 4_194_304;

/**
 * When machines were given an address, by their MAC addresses, the oldest first. Kea appends a line to its file each time; what is older
 * than its last cleaning is in the file beside it, the latest time of each lease alone. Undefined: there is no file that could be read.
 */
export async function leaseTimes(file: string, macs: ReadonlySet<string>): Promise<Map<string, Date[]> | undefined> {
  const texts = await Promise.all([endOf(`${file}.2`), endOf(file)]);
  if (texts[1] === undefined) return undefined;
  const times = new Map<string, Date[]>();
  for (const line of texts.flatMap((text) => text?.split('\n') ?? [])) {
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

async function endOf(path: string): Promise<string | undefined> {
  let file: FileHandle;
  try {
    file = await open(path);
  } catch (error) {
    if (['ENOENT', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
  try {
    const { size } = await file.stat();
    const length = Math.min(size, mostBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}
