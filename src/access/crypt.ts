import { randomBytes, timingSafeEqual } from 'node:crypto';
import koffi from 'koffi';
import { Fault } from '../core/errors.ts';

export { isCryptHash } from './crypt-shape.ts';

/** CRYPT_MAX_PASSPHRASE_SIZE of libcrypt is 512 with the final NUL. */
export const maximumPasswordBytes = 511;

/** More than two at once would starve file and name lookups, which share the same four threads. */
const maximumRunning = 2;
const maximumWaiting = 64;
/** CRYPT_OUTPUT_SIZE is 384 and sizeof(struct crypt_data) is 32768 in every libxcrypt. */
const outputSize = 384;
const dataSize = 32768;
/** Random bytes that a salt is made of. */
const saltBytes = 16;

type CryptRn = (phrase: string, setting: string, data: Buffer, size: number) => string | null;
interface Library {
  crypt: { async: (...args: [...Parameters<CryptRn>, (error: unknown, result: string | null) => void]) => void };
  setting: (salt?: Buffer) => string;
}

let loaded: Library | undefined;

function library(): Library {
  loaded ??= load();
  return loaded;
}

function load(): Library {
  let file: ReturnType<typeof koffi.load> | undefined;
  for (const name of ['libcrypt.so.1', 'libcrypt.so.2']) {
    try {
      file = koffi.load(name);
      break;
    } catch {}
  }
  if (!file) throw new Error('Neither libcrypt.so.1 nor libcrypt.so.2 can be loaded: install libcrypt1 (libxcrypt).');
  const crypt = file.func(
    'const char *crypt_rn(const char *phrase, const char *setting, _Inout_ uint8_t *data, int size)',
  );
  const gensalt = file.func(
    'const char *crypt_gensalt_rn(const char *prefix, unsigned long count, const uint8_t *bytes, int length, _Out_ uint8_t *output, int size)',
  );
  const salted = (prefix: string, salt: Buffer = randomBytes(saltBytes)): string | null =>
    gensalt(prefix, 0, salt, saltBytes, Buffer.alloc(outputSize), outputSize);
  const prefix = salted('$y$') === null ? '$6$' : '$y$';
  return {
    crypt,
    setting(salt) {
      const setting = salted(prefix, salt);
      if (setting === null) throw new Error(`libcrypt makes no salt for ${prefix}.`);
      return setting;
    },
  };
}

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running < maximumRunning) running++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

function compute(phrase: string, setting: string): Promise<string | undefined> {
  return inTurn(async () => {
    const data = Buffer.alloc(dataSize);
    try {
      const result = await new Promise<string | null>((resolve, reject) => {
        library().crypt.async(phrase, setting, data, dataSize, (error, text) =>
          error ? reject(error) : resolve(text),
        );
      });
      return result === null || result.startsWith('*') ? undefined : result;
    } finally {
      data.fill(0);
    }
  });
}

function isUsable(clear: string): boolean {
  return (
    !clear.includes('\0') && clear.length <= maximumPasswordBytes && Buffer.byteLength(clear) <= maximumPasswordBytes
  );
}

/** A fresh salt of the preferred method, without a hash; verifying against it costs what a real check costs and never succeeds. */
export function freshSetting(): string {
  return library().setting();
}

/**
 * Waits its turn without limit: only authenticated writers get here. `salt`, of 16 bytes that nobody can guess, is for output that has to
 * be the same again.
 */
export async function hashPassword(clear: string, salt?: Buffer): Promise<string> {
  if (!isUsable(clear)) {
    throw new Fault('invalid', `A password has at most ${maximumPasswordBytes} bytes and contains no NUL character.`);
  }
  const hash = await compute(clear, library().setting(salt));
  if (hash === undefined) throw new Error('libcrypt could not hash a password.');
  return hash;
}

export async function verifyPassword(clear: string, stored: string): Promise<boolean> {
  if (!isUsable(clear) || stored === '' || stored.includes('\0')) return false;
  if (running >= maximumRunning && waiting.length >= maximumWaiting) {
    throw new Fault('unavailable', 'Too many password checks are waiting; try again in a moment or use a token.', {
      retryAfter: 1,
    });
  }
  const computed = await compute(clear, stored);
  return computed !== undefined && sameText(computed, stored);
}

/** Takes the same time wherever two texts of equal length differ. */
export function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a);
  const right = Buffer.from(b);
  return left.length === right.length && timingSafeEqual(left, right);
}
