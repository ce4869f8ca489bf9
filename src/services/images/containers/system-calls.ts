import koffi from 'koffi';
import { errorName } from '../../../core/error-name.ts';

/** Paths as bytes with a final zero: names in an image are in no known encoding. */
type Path = Buffer;

let loaded: Library | undefined;

interface Library {
  readonly lsetxattr: (path: Path, name: Path, value: Buffer, size: number, flags: number) => number;
  readonly mknod: (path: Path, mode: number, device: bigint) => number;
}

/** What Node does not offer. */
function library(): Library {
  if (loaded) return loaded;
  const libc = koffi.load('libc.so.6');
  loaded = {
    lsetxattr: libc.func(
      'int lsetxattr(const uint8_t *path, const uint8_t *name, const uint8_t *value, size_t size, int flags)',
    ),
    mknod: libc.func('int mknod(const uint8_t *path, uint32_t mode, uint64_t device)'),
  };
  return loaded;
}

/** Sets an extended attribute of a file, of a link's own. */
export function setAttribute(path: string, name: string, value: Buffer): void {
  check(library().lsetxattr(bytesOf(path), bytesOf(name), value, value.length, 0), `setting the attribute ${name}`);
}

export type SpecialKind = 'character device' | 'block device' | 'pipe';

const typeBits = { 'character device': 0o020000, 'block device': 0o060000, pipe: 0o010000 } as const;

export function makeSpecial(path: string, kind: SpecialKind, major: number, minor: number): void {
  const device = kind === 'pipe' ? 0n : deviceNumber(BigInt(major), BigInt(minor));
  check(library().mknod(bytesOf(path), typeBits[kind] | 0o600, device), `making a ${kind}`);
}

/** As the C library packs it. */
const deviceNumber = (major: bigint, minor: bigint): bigint =>
  (minor & 0xffn) | ((major & 0xfffn) << 8n) | ((minor & 0xffffff00n) << 12n) | ((major & 0xfffff000n) << 32n);

const bytesOf = (text: string): Buffer => Buffer.from(`${text}\0`, 'latin1');

function check(result: number, what: string): void {
  if (result === 0) return;
  const code = errorName(koffi.errno());
  throw Object.assign(new Error(`${code}: ${what} failed`), { code });
}
