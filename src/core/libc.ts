import { constants } from 'node:os';
import koffi from 'koffi';

/** What Node does not offer of the C library. Paths are text, or bytes with a final zero where their encoding is not known. */
export interface Libc {
  readonly renameat2: (fromAt: number, from: string, toAt: number, to: string, flags: number) => number;
  readonly syncfs: { async(fd: number, done: (error: unknown, result: number) => void): void };
  readonly sync_file_range: (fd: number, offset: number, length: number, flags: number) => number;
  readonly lsetxattr: (path: Buffer, name: Buffer, value: Buffer, size: number, flags: number) => number;
  readonly mknod: (path: Buffer, mode: number, device: bigint) => number;
  readonly socket: (family: number, type: number, protocol: number) => number;
  readonly connect: (fd: number, address: Buffer, length: number) => number;
  readonly send: (fd: number, message: Buffer, length: number, flags: number) => number;
  readonly poll: (fds: Buffer, count: number, timeout: number) => number;
  readonly getsockopt: (fd: number, level: number, name: number, value: Buffer, length: Buffer) => number;
  readonly close: (fd: number) => number;
  readonly getenv: (name: string) => unknown;
  readonly strlen: (text: unknown) => number;
  readonly memset: (at: unknown, byte: number, count: number) => unknown;
}

const libcPrototypes: Readonly<Record<keyof Libc, string>> = {
  renameat2: 'int renameat2(int olddirfd, const char *oldpath, int newdirfd, const char *newpath, unsigned int flags)',
  syncfs: 'int syncfs(int fd)',
  sync_file_range: 'int sync_file_range(int fd, int64_t offset, int64_t length, unsigned int flags)',
  lsetxattr: 'int lsetxattr(const uint8_t *path, const uint8_t *name, const uint8_t *value, size_t size, int flags)',
  mknod: 'int mknod(const uint8_t *path, uint32_t mode, uint64_t device)',
  socket: 'int socket(int family, int type, int protocol)',
  connect: 'int connect(int fd, const void *address, unsigned int length)',
  send: 'long send(int fd, const void *message, size_t length, int flags)',
  poll: 'int poll(_Inout_ void *fds, unsigned long count, int timeout)',
  getsockopt: 'int getsockopt(int fd, int level, int name, _Out_ void *value, _Inout_ void *length)',
  close: 'int close(int fd)',
  getenv: 'void *getenv(const char *name)',
  strlen: 'size_t strlen(void *text)',
  memset: 'void *memset(void *at, int byte, size_t count)',
};

/** Password hashes. */
export interface Libcrypt {
  readonly crypt_rn: {
    async(
      phrase: string,
      setting: string,
      data: Buffer,
      size: number,
      done: (error: unknown, result: string | null) => void,
    ): void;
  };
  readonly crypt_gensalt_rn: (
    prefix: string,
    count: number,
    bytes: Buffer,
    length: number,
    output: Buffer,
    size: number,
  ) => string | null;
}

const libcryptPrototypes: Readonly<Record<keyof Libcrypt, string>> = {
  crypt_rn: 'const char *crypt_rn(const char *phrase, const char *setting, _Inout_ uint8_t *data, int size)',
  crypt_gensalt_rn:
    'const char *crypt_gensalt_rn(const char *prefix, unsigned long count, const uint8_t *bytes, int length, _Out_ uint8_t *output, int size)',
};

let loadedLibc: Libc | undefined;
let loadedLibcrypt: Libcrypt | undefined;

/** Loaded at the first call. */
export const libc = (): Libc =>
  (loadedLibc ??= load<Libc>(['libc.so.6'], libcPrototypes, 'muster runs on systems with glibc'));

/** Loaded at the first call. Its name differs from distribution to distribution. */
export const libcrypt = (): Libcrypt =>
  (loadedLibcrypt ??= load<Libcrypt>(
    ['libcrypt.so.1', 'libcrypt.so.2'],
    libcryptPrototypes,
    'install libcrypt1 (libxcrypt)',
  ));

/** The functions of the first of these libraries that is there. */
function load<T>(names: readonly string[], prototypes: Readonly<Record<keyof T, string>>, remedy: string): T {
  for (const name of names) {
    let library: ReturnType<typeof koffi.load>;
    try {
      library = koffi.load(name);
    } catch {
      continue;
    }
    const functions = Object.entries<string>(prototypes).map(([key, prototype]) => [key, library.func(prototype)]);
    return Object.fromEntries(functions) as T;
  }
  throw new Error(`The library ${names.join(' or ')} cannot be loaded: ${remedy}.`);
}

/** Of two names for one number, such as EAGAIN and EWOULDBLOCK, the first counts. */
const errorNames = new Map(
  Object.entries(constants.errno)
    .map(([name, number]) => [number, name] as const)
    .toReversed(),
);

/** `ENOSPC` for its number. */
export const errorName = (number: number): string => errorNames.get(number) ?? `error ${number}`;

/** The name of the error that the last call left behind. */
export const lastError = (): string => errorName(koffi.errno());

/** The last call has failed: an error with its code, as those of Node are. */
export function callError(what: string): Error {
  const code = lastError();
  return Object.assign(new Error(`${code}: ${what}`), { code });
}
