import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import ssh2, { type AnyAuthMethod, type ParsedKey } from 'ssh2';
import type { Fault } from '../../core/errors.ts';
import type { Slices } from '../../core/slices.ts';
import { algorithmsFor } from './algorithms.ts';
import { Connection } from './connection.ts';
import { asFault, connectDeadlineFault, lostFault, talkativeFault } from './faults.ts';
import { checkHostKey, type HostKeys, keyText } from './host-keys.ts';
import { PacedReading } from './paced-reading.ts';
import { portOf, type Target } from './target.ts';

/** A peer that is silent for about four times this long, in milliseconds, is given up. */
const keepalive = 30_000;

/** Bytes that a peer may send until we are logged in. The library looks at a long greeting anew with every piece of it. */
const mostBeforeLogin = 256 * 1024;

export interface ConnectOptions {
  readonly key: ParsedKey;
  readonly hostKeys: HostKeys;
  readonly deadline: number;
  /** A stream to the target through another machine, instead of a TCP connection. */
  readonly through?: Duplex | undefined;
  /** Shared by all connections. */
  readonly slices: Slices;
}

/** Opens a connection and logs in. `abandon` ends the attempt. */
export function connect(target: Target, options: ConnectOptions): { opened: Promise<Connection>; abandon(): void } {
  const { deadline, slices, through } = options;
  const socket = through ?? connectTcp({ host: target.address, port: portOf(target), noDelay: true });
  const opened = new Promise<Connection>((resolve, reject) => {
    const fail = (error: unknown): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(asFault(target, error));
    };
    const timer = setTimeout(() => fail(connectDeadlineFault(target, deadline)), deadline);
    socket.once('error', fail);
    const begin = (): void =>
      slices.add(() => {
        socket.off('error', fail);
        if (socket.destroyed) return fail(lostFault(target));
        logIn(target, socket, options)
          .finally(() => clearTimeout(timer))
          .then(resolve, fail);
      });
    // Whoever cannot be reached costs no more than the attempt.
    if (through) begin();
    else socket.once('connect', begin);
    socket.once('close', () => fail(lostFault(target)));
  });
  return { opened, abandon: () => socket.destroy() };
}

function logIn(target: Target, socket: Duplex, { key, hostKeys, slices }: ConnectOptions): Promise<Connection> {
  const client = new ssh2.Client();
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
      authHandler: [authentication(target, key)],
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

function authentication({ user, password }: Target, key: ParsedKey): AnyAuthMethod {
  if (password !== undefined) return { type: 'password', username: user, password };
  return { type: 'publickey', username: user, key };
}
