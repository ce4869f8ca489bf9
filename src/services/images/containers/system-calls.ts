import { callError, libc } from '../../../core/libc.ts';

/** Sets an extended attribute of a file, of a link's own. */
export function setAttribute(path: string, name: string, value: Buffer): void {
  check(libc().lsetxattr(bytesOf(path), bytesOf(name), value, value.length, 0), `setting the attribute ${name}`);
}

export type SpecialKind = 'character device' | 'block device' | 'pipe';

const typeBits = { 'character device': 0o020000, 'block device': 0o060000, pipe: 0o010000 } as const;

export function makeSpecial(path: string, kind: SpecialKind, major: number, minor: number): void {
  const device = kind === 'pipe' ? 0n : deviceNumber(BigInt(major), BigInt(minor));
  check(libc().mknod(bytesOf(path), typeBits[kind] | 0o600, device), `making a ${kind}`);
}

/** As the C library packs it. */
const deviceNumber = (major: bigint, minor: bigint): bigint =>
  (minor & 0xffn) | ((major & 0xfffn) << 8n) | ((minor & 0xffffff00n) << 12n) | ((major & 0xfffff000n) << 32n);

/** Names in an image are in no known encoding. */
const bytesOf = (text: string): Buffer => Buffer.from(`${text}\0`, 'latin1');

function check(result: number, what: string): void {
  if (result !== 0) throw callError(`${what} failed`);
}
