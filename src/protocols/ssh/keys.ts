import { generateKeyPairSync, randomBytes } from 'node:crypto';
import ssh2 from 'ssh2';

const type = 'ssh-ed25519';
const magic = Buffer.from('openssh-key-v1\0');
/** The private part is filled up to a multiple of it. */
const blockSize = 8;

/** A new ed25519 key pair in OpenSSH's format (PROTOCOL.key). ssh2 now and then makes one that OpenSSH cannot read. */
export function newKeyPair(comment: string): { readonly privateKey: string; readonly publicKey: string } {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [open, secret] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')];
  const publicBlob = Buffer.concat([text(type), text(open)]);
  const check = randomBytes(4);
  const pair = text(Buffer.concat([secret, open]));
  const privateBlob = padded(Buffer.concat([check, check, text(type), text(open), pair, text(comment)]));
  const whole = [magic, text('none'), text('none'), text(''), word(1), text(publicBlob), text(privateBlob)];
  const lines =
    Buffer.concat(whole)
      .toString('base64')
      .match(/.{1,70}/g) ?? [];
  return {
    privateKey: ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n'),
    publicKey: `${type} ${publicBlob.toString('base64')} ${comment}`,
  };
}

/** The line for authorized_keys that belongs to a private key; undefined if it is none. */
export function publicKeyOf(privateKey: string): string | undefined {
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error || !key.isPrivateKey()) return undefined;
  return [key.type, key.getPublicSSH().toString('base64'), key.comment].filter((part) => part !== '').join(' ');
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Bytes with their length before them. */
function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([word(bytes.length), bytes]);
}

function padded(bytes: Buffer): Buffer {
  const missing = (blockSize - (bytes.length % blockSize)) % blockSize;
  return Buffer.concat([bytes, Buffer.from(Array.from({ length: missing }, (_, index) => index + 1))]);
}
