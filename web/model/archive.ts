// Files of this browser as a tar archive, which the interface takes. They are read while they are sent, not before.
import { requests } from '../texts/common.ts';

const block = 512;
const longestName = 100;
const encoder = new TextEncoder();

/** Why files cannot be sent; undefined: they can. */
export function problemOf(files: readonly File[]): string | undefined {
  const names = files.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  return twice === undefined ? undefined : requests.sameNames(twice);
}

export function archiveOf(files: readonly File[]): Blob {
  const parts = files.flatMap((file): BlobPart[] => [
    ...header(encoder.encode(file.name), file),
    file,
    new Uint8Array(padding(file.size)),
  ]);
  return new Blob([...parts, new Uint8Array(2 * block)]);
}

const padding = (size: number): number => (block - (size % block)) % block;

/** The header of a file; what is too long for it stands before, in GNU's way. */
function header(name: Uint8Array<ArrayBuffer>, { size, lastModified }: File): BlobPart[] {
  const time = Math.max(0, Math.floor(lastModified / 1_000));
  const own = headerBlock(name.subarray(0, longestName), { size, time, type: '0' });
  if (name.length <= longestName) return [own];
  const long = name.length + 1;
  const before = headerBlock(encoder.encode('././@LongLink'), { size: long, time: 0, type: 'L' });
  return [before, name, new Uint8Array(1 + padding(long)), own];
}

interface Fields {
  readonly size: number;
  /** Seconds. */
  readonly time: number;
  readonly type: string;
}

function headerBlock(name: Uint8Array, { size, time, type }: Fields): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(block);
  const put = (at: number, text: string): void => bytes.set(encoder.encode(text), at);
  bytes.set(name);
  put(100, octal(0o644, 8));
  put(108, octal(0, 8));
  put(116, octal(0, 8));
  // Eleven digits of octal end at 8 GiB; more is binary, behind a byte with its first bit set.
  if (size < 8 ** 11) put(124, octal(size, 12));
  else {
    bytes[124] = 0x80;
    new DataView(bytes.buffer).setBigUint64(128, BigInt(size));
  }
  put(136, octal(time, 12));
  put(148, ' '.repeat(8));
  put(156, type);
  put(257, 'ustar\u000000');
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(148, `${octal(sum, 7)} `);
  return bytes;
}

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`;
