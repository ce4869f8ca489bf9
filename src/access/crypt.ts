import { randomBytes, timingSafeEqual } from 'node:crypto';
import { Fault } from '../core/errors.ts';
import { libcrypt } from '../core/libc.ts';
import { limiter } from '../core/limiter.ts';

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

/** Methods that systems know which do not know the usual one. */
const prefixes = { sha256: '$5$', sha512: '$6$' } as const;
export type CryptMethod = keyof typeof prefixes;

const salted = (prefix: string, salt: Buffer = randomBytes(saltBytes)): string | null =>
  libcrypt().crypt_gensalt_rn(prefix, 0, salt, saltBytes, Buffer.alloc(outputSize), outputSize);

/** The best method that this machine's libcrypt knows. */
let preferred: string | undefined;

function newSetting(salt?: Buffer, method?: CryptMethod): string {
  preferred ??= salted('$y$') === null ? '$6$' : '$y$';
  const prefix = method === undefined ? preferred : prefixes[method];
  const setting = salted(prefix, salt);
  if (setting === null) throw new Error(`libcrypt makes no salt for ${prefix}.`);
  return setting;
}

const inTurn = limiter(maximumRunning);
/** Computations that run or wait. */
let queued = 0;

function compute(phrase: string, setting: string): Promise<string | undefined> {
  queued++;
  return inTurn(async () => {
    const data = Buffer.alloc(dataSize);
    try {
      const result = await new Promise<string | null>((resolve, reject) => {
        libcrypt().crypt_rn.async(phrase, setting, data, dataSize, (error, text) =>
          error ? reject(error) : resolve(text),
        );
      });
      return result === null || result.startsWith('*') ? undefined : result;
    } finally {
      data.fill(0);
      queued--;
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
  return newSetting();
}

/**
 * Waits its turn without limit: only authenticated writers get here. `salt`, of 16 bytes that nobody can guess, is for output that has to
 * be the same again.
 */
export async function hashPassword(clear: string, salt?: Buffer, method?: CryptMethod): Promise<string> {
  if (!isUsable(clear)) {
    throw new Fault('invalid', `A password has at most ${maximumPasswordBytes} bytes and contains no NUL character.`);
  }
  const hash = await compute(clear, newSetting(salt, method));
  if (hash === undefined) throw new Error('libcrypt could not hash a password.');
  return hash;
}

export async function verifyPassword(clear: string, stored: string): Promise<boolean> {
  if (!isUsable(clear) || stored === '' || stored.includes('\0')) return false;
  if (queued >= maximumRunning + maximumWaiting) {
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

/** crypt(5) by method. Traditional DES is left out on purpose: any thirteen letters would look like one. */
const shapes: readonly RegExp[] = [
  /^\$g?y\$[./A-Za-z0-9]+\$[./A-Za-z0-9]{0,86}\$[./A-Za-z0-9]{43}$/,
  /^\$7\$[./A-Za-z0-9]{11,97}\$[./A-Za-z0-9]{43}$/,
  /^\$2[abxy]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/,
  /^\$6\$(rounds=[1-9]\d{2,8}\$)?[^$:\s]{0,16}\$[./A-Za-z0-9]{86}$/,
  /^\$5\$(rounds=[1-9]\d{2,8}\$)?[^$:\s]{0,16}\$[./A-Za-z0-9]{43}$/,
  /^\$1\$[^$:\s]{0,8}\$[./A-Za-z0-9]{22}$/,
  /^\$sha1\$[1-9]\d{0,9}\$[./A-Za-z0-9]{1,64}\$[./A-Za-z0-9]{28}$/,
  /^\$md5(,rounds=[1-9]\d{0,9})?\$[./A-Za-z0-9]{8}\${1,2}[./A-Za-z0-9]{22}$/,
  /^\$3\$\$[0-9a-f]{32}$/,
];

/** Whether a text is a complete crypt hash, not just something with a dollar sign in front. */
export function isCryptHash(text: string): boolean {
  return text.length <= 384 && text.startsWith('$') && shapes.some((shape) => shape.test(text));
}
