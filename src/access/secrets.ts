import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import { Fault } from '../core/errors.ts';
import { writeFileAtomically } from '../core/files.ts';

const prefix = '{m1}';
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts what is stored. The context ("table.column") is authenticated too: a text moved to another column does not open. */
export class SecretBox {
  readonly #sealing: KeyObject;
  readonly #signing: KeyObject;
  #nonces = Buffer.alloc(0);

  private constructor(key: Buffer) {
    this.#sealing = derive(key, 'seal');
    this.#signing = derive(key, 'mac');
  }

  /** Makes the key file if there is none; refuses one that others can read or that is not a key. */
  static open(keyFile: string): SecretBox {
    const key = readKey(keyFile) ?? createKey(keyFile);
    const box = new SecretBox(key);
    key.fill(0);
    return box;
  }

  seal(clear: string, context: string): string {
    const nonce = this.#nonce();
    const cipher = createCipheriv('aes-256-gcm', this.#sealing, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(context));
    const body = cipher.update(clear, 'utf8');
    cipher.final();
    return prefix + Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url');
  }

  open(sealed: string, context: string): string {
    const clear = this.#opened(sealed, context);
    if (clear !== undefined) return clear;
    throw new Fault(
      'unavailable',
      `The secret stored in ${context} cannot be decrypted: it was changed, or it was written with another key file. Write it again.`,
    );
  }

  /** By which servers know that they have the same key; it tells nothing about the key. */
  get fingerprint(): string {
    return createHmac('sha256', this.#signing).update('fingerprint of the key').digest('hex').slice(0, 32);
  }

  /** Whether a sealed text was written with this key. */
  opens(sealed: string, context: string): boolean {
    return this.#opened(sealed, context) !== undefined;
  }

  #opened(sealed: string, context: string): string | undefined {
    const bytes = unpack(sealed);
    if (!bytes) return undefined;
    try {
      const nonce = bytes.subarray(0, nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', this.#sealing, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      const clear = decipher.update(bytes.subarray(nonceBytes, -tagBytes));
      decipher.final();
      return clear.toString('utf8');
    } catch {
      return undefined;
    }
  }

  isSealed(text: string): boolean {
    return unpack(text) !== undefined;
  }

  /** A keyed fingerprint: equal texts give equal results, and nobody without the key file can test a guess. */
  mac(text: string): string {
    return createHmac('sha256', this.#signing).update(text).digest('hex');
  }

  /** Drawn in bulk: asking for twelve bytes at a time would cost as much as the encryption. */
  #nonce(): Buffer {
    if (this.#nonces.length < nonceBytes) this.#nonces = randomBytes(nonceBytes * 256);
    const nonce = this.#nonces.subarray(0, nonceBytes);
    this.#nonces = this.#nonces.subarray(nonceBytes);
    return nonce;
  }
}

function derive(key: Buffer, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `muster ${purpose} 1`, keyBytes)));
}

/** Nonce, ciphertext and tag; undefined if the text is not exactly what seal writes. */
function unpack(text: string): Buffer | undefined {
  if (!text.startsWith(prefix)) return undefined;
  const encoded = text.slice(prefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  if (bytes.length < nonceBytes + tagBytes || bytes.toString('base64url') !== encoded) return undefined;
  return bytes;
}

/** What is wrong with the length of a key file, if anything. */
export function wrongKeyLength(file: string, { size } = statSync(file)): string | undefined {
  return size === keyBytes ? undefined : `has ${size} bytes instead of ${keyBytes}`;
}

function readKey(file: string): Buffer | undefined {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`The key file ${file} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
  try {
    const status = fstatSync(handle);
    const { mode } = status;
    if ((mode & 0o077) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, '0');
      throw new Error(`The key file ${file} is open to other users (mode ${shown}): run chmod 600 on it.`);
    }
    const wrong = wrongKeyLength(file, status);
    if (wrong !== undefined) throw new Error(`The key file ${file} ${wrong}: restore it from a backup.`);
    return readFileSync(handle);
  } finally {
    closeSync(handle);
  }
}

function createKey(file: string): Buffer {
  const key = randomBytes(keyBytes);
  writeFileAtomically(file, key, 0o600);
  return key;
}
