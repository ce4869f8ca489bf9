import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Algorithms, AnyAuthMethod, Client, KeyboardInteractiveAuthMethod, ParsedKey } from 'ssh2';
import type { Fault } from '../../core/errors.ts';
import type { Slices } from '../../core/slices.ts';
import { Connection, PacedReading } from './connection.ts';
import { asFault, connectTimeoutFault, lostFault, talkativeFault } from './faults.ts';
import { checkHostKey, type HostKeys, keyText } from './host-keys.ts';
import { portOf, type Target } from './target.ts';

/** A peer that is silent for about four times this long, in milliseconds, is given up. */
const keepalive = 30_000;

/** Bytes that a peer may send until we are logged in. The library looks at a long greeting again with every piece of it. */
const mostBeforeLogin = 256 * 1024;

export interface ConnectOptions {
  /** For targets without a password. */
  readonly key?: ParsedKey | undefined;
  /** The password is also the answer to a question that the peer asks a person. */
  readonly isPerson?: boolean | undefined;
  readonly hostKeys: HostKeys;
  readonly timeout: number;
  /** A stream to the target through another machine, instead of a TCP connection. */
  readonly through?: Duplex | undefined;
  /** Shared by all connections. */
  readonly slices: Slices;
}

/** Opens a connection and logs in. `abandon` ends the attempt. */
export function connect(target: Target, options: ConnectOptions): { opened: Promise<Connection>; abandon(): void } {
  const { timeout, slices, through } = options;
  const direct = through ? undefined : new Socket().setNoDelay();
  const socket = through ?? direct!;
  const opened = new Promise<Connection>((resolve, reject) => {
    const fail = (error: unknown): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(asFault(target, error));
    };
    const timer = setTimeout(() => fail(connectTimeoutFault(target, timeout)), timeout);
    socket.once('error', fail);
    // The library is there before the peer can speak: what comes while it loads would wait for somebody to read it.
    const begin = async (): Promise<void> => {
      const { default: ssh2 } = await import('ssh2');
      const start = (): void =>
        slices.add(() => {
          socket.off('error', fail);
          if (socket.destroyed) return fail(lostFault(target));
          logIn(target, new ssh2.Client(), socket, options)
            .finally(() => clearTimeout(timer))
            .then(resolve, fail);
        });
      // Whoever cannot be reached costs no more than the attempt.
      if (!direct) return start();
      if (direct.destroyed) return;
      direct.once('connect', start).connect({ host: target.address, port: portOf(target) });
    };
    begin().catch(fail);
    socket.once('close', () => fail(lostFault(target)));
  });
  return { opened, abandon: () => socket.destroy() };
}

function logIn(target: Target, client: Client, socket: Duplex, options: ConnectOptions): Promise<Connection> {
  const { hostKeys, slices } = options;
  return new Promise((resolve, reject) => {
    let refused: Fault | undefined;
    const fail = (error: unknown): void => reject(refused ?? asFault(target, error));
    const connection = new Connection(target, client, socket, new PacedReading(socket, slices));
    // It stays for the life of the connection: what breaks later shows as the end of sessions.
    client.on('error', fail);
    client.once('close', () => fail(lostFault(target)));
    const uncount = countedUntilReady(socket, () => {
      refused = talkativeFault(target, mostBeforeLogin);
      socket.destroy(refused);
    });
    client.once('ready', () => {
      uncount();
      resolve(connection);
    });
    const verify = async (blob: Buffer, accept: (accepted: boolean) => void): Promise<void> => {
      refused = await checkHostKey(target, keyText(blob), hostKeys);
      accept(refused === undefined);
    };
    client.connect({
      sock: socket,
      username: target.user,
      authHandler: [...authentications(target, options)],
      algorithms: algorithmsFor(hostKeys.known(target.name)),
      hostVerifier: (blob: Buffer, accept: (accepted: boolean) => void) => void verify(blob, accept).catch(fail),
      readyTimeout: 0,
      keepaliveInterval: keepalive,
      keepaliveCountMax: 3,
    });
  });
}

/** Calls when more has come than allowed; what is returned ends the counting. */
function countedUntilReady(socket: Duplex, tooMuch: () => void): () => void {
  let received = 0;
  const count = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > mostBeforeLogin) tooMuch();
  };
  // As late as the paced reading: a listener for data alone would start the stream.
  setImmediate(() => socket.on('data', count));
  return () => socket.off('data', count);
}

function authentications({ user, password }: Target, { key, isPerson }: ConnectOptions): AnyAuthMethod[] {
  if (password === undefined) return key ? [{ type: 'publickey', username: user, key }] : [];
  const told: AnyAuthMethod = { type: 'password', username: user, password };
  return isPerson ? [told, { type: 'keyboard-interactive', username: user, prompt: answering(password) }] : [told];
}

/** A question whose answer is not shown is one for the password; there is no answer to others. */
const answering =
  (password: string): KeyboardInteractiveAuthMethod['prompt'] =>
  (_name, _instructions, _language, prompts, finish) =>
    finish(prompts.length === 1 && !prompts[0]?.echo ? [password] : []);

/** The cheapest good ones first. ChaCha20-Poly1305 costs ssh2 twice as much as AES-GCM, which OpenSSL does. */
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

/** A host with keys of several types is asked for one that is known: another would look like a change. */
function algorithmsFor(known: readonly string[]): Algorithms {
  const first = known.flatMap((key) => signaturesOf(key.split(' ', 1)[0] ?? ''));
  return { ...offered, serverHostKey: [...new Set([...first, ...hostKeyTypes])] };
}
