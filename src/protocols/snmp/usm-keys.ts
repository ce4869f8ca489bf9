import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';
import { cachedByText } from '../../core/cache.ts';

/** Keys and ciphers of SNMPv3's user-based security model: RFC 3414, 3826 and 7860; AES with longer keys as net-snmp has it. */

interface Digest {
  readonly hash: string;
  /** Bytes of it that a message carries. */
  readonly carried: number;
}

export const authProtocols: Readonly<Record<string, Digest>> = {
  MD5: { hash: 'md5', carried: 12 },
  SHA: { hash: 'sha1', carried: 12 },
  'SHA-224': { hash: 'sha224', carried: 16 },
  'SHA-256': { hash: 'sha256', carried: 24 },
  'SHA-384': { hash: 'sha384', carried: 32 },
  'SHA-512': { hash: 'sha512', carried: 48 },
};

interface Cipher {
  readonly keyBytes: number;
  /** What of the message decides the first block besides the salt; `key` may be longer than the cipher's. */
  encrypt(key: Buffer, at: EngineTime, plain: Buffer): { readonly salt: Buffer; readonly bytes: Buffer };
  decrypt(key: Buffer, at: EngineTime, salt: Buffer, bytes: Buffer): Buffer;
}

export interface EngineTime {
  readonly boots: number;
  readonly time: number;
}

function aes(bits: 128 | 192 | 256): Cipher {
  const name = `aes-${bits}-cfb`;
  const keyBytes = bits / 8;
  const first = ({ boots, time }: EngineTime, salt: Buffer): Buffer => {
    const block = Buffer.alloc(16);
    block.writeUInt32BE(boots, 0);
    block.writeUInt32BE(time, 4);
    salt.copy(block, 8);
    return block;
  };
  return {
    keyBytes,
    encrypt(key, at, plain) {
      const salt = randomBytes(8);
      const cipher = createCipheriv(name, key.subarray(0, keyBytes), first(at, salt));
      return { salt, bytes: Buffer.concat([cipher.update(plain), cipher.final()]) };
    },
    decrypt(key, at, salt, bytes) {
      const cipher = createDecipheriv(name, key.subarray(0, keyBytes), first(at, salt));
      return Buffer.concat([cipher.update(bytes), cipher.final()]);
    },
  };
}

/** OpenSSL has single DES no longer by default; three times the same key is the same cipher. */
const threeTimes = (key: Buffer): Buffer => Buffer.concat([1, 2, 3].map(() => key.subarray(0, 8)));
const mixed = (key: Buffer, salt: Buffer): Buffer => Buffer.from(salt.map((byte, at) => byte ^ key[8 + at]!));

const des: Cipher = {
  keyBytes: 16,
  encrypt(key, { boots }, plain) {
    const salt = randomBytes(8);
    salt.writeUInt32BE(boots, 0);
    const cipher = createCipheriv('des-ede3-cbc', threeTimes(key), mixed(key, salt));
    cipher.setAutoPadding(false);
    const padded = Buffer.concat([plain, Buffer.alloc((8 - (plain.length % 8)) % 8)]);
    return { salt, bytes: Buffer.concat([cipher.update(padded), cipher.final()]) };
  },
  decrypt(key, _at, salt, bytes) {
    const cipher = createDecipheriv('des-ede3-cbc', threeTimes(key), mixed(key, salt));
    cipher.setAutoPadding(false);
    return Buffer.concat([cipher.update(bytes), cipher.final()]);
  },
};

export const privProtocols: Readonly<Record<string, Cipher>> = {
  DES: des,
  AES: aes(128),
  'AES-192': aes(192),
  'AES-256': aes(256),
};

const stretched = 1_048_576;
const mostKeys = 1_024;

/** Takes milliseconds, so it is done once for each password and engine. */
const localized = cachedByText(mostKeys, (text): Buffer => {
  const [hash, engine, password] = JSON.parse(text) as [string, string, string];
  const repeated = Buffer.alloc(stretched, Buffer.from(password));
  const key = createHash(hash).update(repeated).digest();
  return createHash(hash).update(key).update(Buffer.from(engine, 'hex')).update(key).digest();
});

/** The key of a password at one engine, of at least so many bytes. */
export function keyAt({ hash }: Digest, password: string, engine: Buffer, bytes = 0): Buffer {
  const key = localized(JSON.stringify([hash, engine.toString('hex'), password]));
  return key.length >= bytes ? key : Buffer.concat([key, createHash(hash).update(key).digest()]);
}

export const digestOf = ({ hash, carried }: Digest, key: Buffer, message: Buffer): Buffer =>
  createHmac(hash, key).update(message).digest().subarray(0, carried);
