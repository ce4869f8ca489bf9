import type { Algorithms } from 'ssh2';

/**
 * The cheapest good ones first: what the two sides agree on is the first of ours that the other side has. ssh2 runs AES-GCM in
 * OpenSSL's assembly; ChaCha20-Poly1305 costs it twice as much and is for hosts that have nothing else.
 */
const offered = {
  kex: [
    'curve25519-sha256',
    'curve25519-sha256@libssh.org',
    'ecdh-sha2-nistp256',
    'ecdh-sha2-nistp384',
    'ecdh-sha2-nistp521',
    'diffie-hellman-group14-sha256',
    'diffie-hellman-group16-sha512',
    // No diffie-hellman-group-exchange: the other side would choose the prime, and checking one of 8,192 bits takes minutes.
  ],
  cipher: [
    'aes128-gcm@openssh.com',
    'aes256-gcm@openssh.com',
    'aes128-ctr',
    'aes256-ctr',
    'chacha20-poly1305@openssh.com',
  ],
  compress: ['none'],
} satisfies Algorithms;

const hostKeyTypes = [
  'ssh-ed25519',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'rsa-sha2-512',
  'rsa-sha2-256',
] as const;

type HostKeyType = (typeof hostKeyTypes)[number];

const signaturesOf = (type: string): readonly HostKeyType[] =>
  type === 'ssh-rsa' ? ['rsa-sha2-512', 'rsa-sha2-256'] : hostKeyTypes.filter((each) => each === type);

/** A host with keys of several types is asked for the one that is known: another would look like a change. */
export function algorithmsFor(knownKey: string | undefined): Algorithms {
  const first = knownKey === undefined ? [] : signaturesOf(knownKey.split(' ', 1)[0] ?? '');
  return { ...offered, serverHostKey: [...new Set([...first, ...hostKeyTypes])] };
}
