import { type FileHandle, open } from 'node:fs/promises';
import { Turns } from '../../core/waiting.ts';

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

interface FileEnd {
  readonly text: string;
  /** Which file it is: another one may have its name by now. */
  readonly inode: number;
  /** Where the text ends. */
  readonly position: number;
}

/** What stands in a file behind a position, the end of it if that is much; undefined: it cannot be read. */
async function endOf(path: string, from = 0): Promise<FileEnd | undefined> {
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

/**
 * When firmware and boot loaders were given their IPv4 addresses. Kea appends a line to its file before it answers; theirs are known by
 * their lifetime, which no other lease has. Only what is new is read each time, since whoever fetches a boot script can ask.
 */
export class FirmwareLeases {
  readonly #file: string;
  readonly #turns = new Turns();
  /** Seconds since 1970, by address. */
  readonly #given = new Map<string, number>();
  #lifetime = 0;
  #inode = 0;
  #position = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** When the address was given last to firmware, whose leases have this lifetime. */
  async lastOf(address: string, lifetime: number): Promise<Date | undefined> {
    await this.#turns.take(() => this.#catchUp(lifetime));
    const seconds = this.#given.get(address);
    return seconds === undefined ? undefined : new Date(seconds * 1_000);
  }

  async #catchUp(lifetime: number): Promise<void> {
    let end = await endOf(this.#file, this.#position);
    if (!end) return;
    if (end.inode !== this.#inode || end.position < this.#position || lifetime !== this.#lifetime) {
      this.#lifetime = lifetime;
      this.#given.clear();
      // Kea begins a new file now and then, and gathers what was in the one before in those beside it.
      for (const older of ['.2', '.1']) this.#take((await endOf(this.#file + older))?.text ?? '');
      end = await endOf(this.#file);
      if (!end) return;
    }
    // The last line may not be written to its end.
    const whole = end.text.lastIndexOf('\n') + 1;
    this.#inode = end.inode;
    this.#position = end.position - (end.text.length - whole);
    this.#take(end.text.slice(0, whole));
  }

  #take(text: string): void {
    for (const line of text.split('\n')) {
      const [address = '', , , lifetime, expires = ''] = line.split(',');
      if (Number(lifetime) !== this.#lifetime || !/^\d+$/.test(expires)) continue;
      this.#given.set(address, Number(expires) - this.#lifetime);
    }
  }
}
