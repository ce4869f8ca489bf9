import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { hostAndPort, type Target } from './target.ts';

const type = 'ssh-ed25519';
const magic = Buffer.from('openssh-key-v1\0');
/** The private part is filled up to a multiple of it. */
const blockSize = 8;

/** The parts of a key pair; the rest of its file is the same for all. */
interface Parts {
  readonly open: Buffer;
  readonly secret: Buffer;
  readonly check: Buffer;
  readonly comment: string;
}

interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

/** A new ed25519 key pair in OpenSSH's format (PROTOCOL.key). ssh2 now and then makes one that OpenSSH cannot read. */
export function newKeyPair(comment: string): KeyPair {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [open, secret] = [Buffer.from(x, 'base64url'), Buffer.from(d, 'base64url')];
  return keyPair({ open, secret, check: randomBytes(4), comment });
}

function keyPair({ open, secret, check, comment }: Parts): KeyPair {
  const publicBlob = Buffer.concat([text(type), text(open)]);
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
export async function publicKeyOf(privateKey: string): Promise<string | undefined> {
  // Every start asks for that of muster's own key, and ssh2 takes long to load.
  const own = keyPair(partsOf(privateKey));
  if (own.privateKey === privateKey) return own.publicKey;
  const { default: ssh2 } = await import('ssh2');
  const key = ssh2.utils.parseKey(privateKey);
  if (key instanceof Error || !key.isPrivateKey()) return undefined;
  return [key.type, key.getPublicSSH().toString('base64'), key.comment].filter((part) => part !== '').join(' ');
}

/** What stands where `keyPair` writes the parts; of another key, some other bytes. */
function partsOf(privateKey: string): Parts {
  const bytes = Buffer.from(privateKey.replaceAll(/^-.*$/gm, ''), 'base64');
  const openAt = 62;
  const checkAt = openAt + 32 + 4;
  const secretAt = checkAt + 4 + 4 + 15 + 36 + 4;
  const commentAt = secretAt + 64 + 4;
  const comment = bytes.subarray(
    commentAt,
    commentAt + (bytes.length < commentAt ? 0 : bytes.readUInt32BE(commentAt - 4)),
  );
  return {
    open: bytes.subarray(openAt, openAt + 32),
    secret: bytes.subarray(secretAt, secretAt + 32),
    check: bytes.subarray(checkAt, checkAt + 4),
    comment: comment.toString(),
  };
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

/** Host keys, each as the two words `ssh-ed25519 AAAA...`. */
export interface HostKeys {
  /** Whether a host whose key is not known is accepted and its key kept. */
  readonly policy: 'strict' | 'first-use';
  /** None: the host is not known. Any of them is accepted. */
  known(name: string): readonly string[];
  /** Keeps a key, unless one was kept meanwhile. */
  learn(name: string, key: string): Promise<void>;
  /** How a user makes the next key the first one again. */
  howToForget(name: string): string;
  howToLearn(name: string): string;
}

/** The two words of a public key as it is sent. */
export function keyText(blob: Buffer): string {
  const length = blob.length < 4 ? 0 : blob.readUInt32BE(0);
  return `${blob.toString('latin1', 4, 4 + length)} ${blob.toString('base64')}`;
}

/** As OpenSSH shows it. */
export function keyFingerprint(key: string): string {
  const blob = Buffer.from(key.split(' ')[1] ?? '', 'base64');
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** What is wrong with the key a host has shown, if anything. */
export function checkHostKey(
  target: Target,
  shown: string,
  keys: HostKeys,
): Fault | undefined | Promise<Fault | undefined> {
  const known = keys.known(target.name);
  if (known.length > 0)
    return known.includes(shown) ? undefined : changedKey(target, known, keyFingerprint(shown), keys);
  if (keys.policy === 'strict') return unknownKey(target, keyFingerprint(shown), keys);
  return keys.learn(target.name, shown).then(() => {
    const kept = keys.known(target.name);
    return kept.includes(shown) ? undefined : changedKey(target, kept, keyFingerprint(shown), keys);
  });
}

export function changedKey(target: Target, known: readonly string[], fingerprint: string, keys: HostKeys): Fault {
  return new Fault(
    'invalid',
    `the host key of its sshd at ${hostAndPort(target)} has changed, and nothing was sent to it. ` +
      `The fingerprint known for ${target.name} is ${known.map(keyFingerprint).join(' or ')}, the one shown now is ${fingerprint}. ` +
      `If the change is expected (a new installation), forget the old key: ${keys.howToForget(target.name)}`,
  );
}

export function unknownKey(target: Target, fingerprint: string | undefined, keys: HostKeys): Fault {
  return new Fault(
    'invalid',
    `the host key of its sshd at ${hostAndPort(target)} is not known, and only known ones are accepted here. ` +
      (fingerprint === undefined ? '' : `It shows ${fingerprint}. If that is right: `) +
      keys.howToLearn(target.name),
  );
}
