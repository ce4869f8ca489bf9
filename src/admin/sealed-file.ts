import { createCipheriv, createDecipheriv, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { Fault } from '../core/errors.ts';

/** The first line of a file, by which people and muster know what it is. */
const magic = Buffer.from('muster join file 1\n');
const saltBytes = 16;
/** Says whether the passphrase is right, before anything is decrypted. */
const checkBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const keyBytes = 32;
const headBytes = magic.length + saltBytes + checkBytes + nonceBytes;

/** One guess takes 128 MiB, and a third of a second of a processor. */
const cost = { N: 1 << 17, r: 8, p: 1, maxmem: 1 << 28 };

/** More than any file that is sealed here. */
const mostBytes = 16 << 20;

const derive = promisify<string, Buffer, number, typeof cost, Buffer>(scrypt);

async function keysFrom(passphrase: string, salt: Buffer): Promise<{ readonly key: Buffer; readonly check: Buffer }> {
  const bytes = await derive(passphrase.normalize(), salt, keyBytes + checkBytes, cost);
  return { key: bytes.subarray(0, keyBytes), check: bytes.subarray(keyBytes) };
}

/** Encrypts with a passphrase. The whole of what comes out is authenticated. */
export async function sealWith(passphrase: string, clear: Buffer): Promise<Buffer> {
  const salt = randomBytes(saltBytes);
  const { key, check } = await keysFrom(passphrase, salt);
  const head = Buffer.concat([magic, salt, check, randomBytes(nonceBytes)]);
  const cipher = createCipheriv('aes-256-gcm', key, head.subarray(-nonceBytes), { authTagLength: tagBytes });
  cipher.setAAD(head);
  return Buffer.concat([head, cipher.update(clear), cipher.final(), cipher.getAuthTag()]);
}

/** The opposite; `file` is what errors name. */
export async function openSealed(passphrase: string, sealed: Buffer, file: string): Promise<Buffer> {
  if (!sealed.subarray(0, magic.length).equals(magic))
    throw new Fault('invalid', `${file} is not a file that muster join --export of this version wrote.`);
  if (sealed.length < headBytes + tagBytes || sealed.length > mostBytes) throw damaged(file);
  const head = sealed.subarray(0, headBytes);
  const salt = head.subarray(magic.length, magic.length + saltBytes);
  const { key, check } = await keysFrom(passphrase, salt);
  if (!timingSafeEqual(check, head.subarray(magic.length + saltBytes, -nonceBytes)))
    throw new Fault('invalid', `The passphrase is wrong: it does not open ${file}. Nothing was written.`);
  const decipher = createDecipheriv('aes-256-gcm', key, head.subarray(-nonceBytes), { authTagLength: tagBytes });
  decipher.setAAD(head);
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(headBytes, -tagBytes)), decipher.final()]);
  } catch (error) {
    throw damaged(file, error);
  }
}

const damaged = (file: string, cause?: unknown): Fault =>
  new Fault(
    'invalid',
    `${file} was changed or cut off after it was written. Nothing was written. Copy it again, or write another one with muster join --export.`,
    { cause },
  );
