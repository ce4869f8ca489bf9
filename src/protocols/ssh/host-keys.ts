import { createHash } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { hostAndPort, type Target } from './target.ts';

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
