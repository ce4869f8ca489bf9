import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import ssh2, { type AnyAuthMethod, type ParsedKey } from 'ssh2';
import type { Fault } from '../../core/errors.ts';
import { algorithmsFor } from './algorithms.ts';
import { Connection } from './connection.ts';
import { asFault, connectDeadlineFault, lostFault } from './faults.ts';
import { checkHostKey, type HostKeys, keyText } from './host-keys.ts';
import { portOf, type Target } from './target.ts';

/** A peer that is silent for about four times this long, in milliseconds, is given up. */
const keepalive = 30_000;

export interface ConnectOptions {
  readonly key: ParsedKey;
  readonly hostKeys: HostKeys;
  readonly deadline: number;
  /** A stream to the target through another machine, instead of a TCP connection. */
  readonly through?: Duplex | undefined;
}

/** Opens a connection and logs in. `abandon` ends the attempt. */
export function connect(target: Target, options: ConnectOptions): { opened: Promise<Connection>; abandon(): void } {
  const { key, hostKeys, deadline, through } = options;
  const client = new ssh2.Client();
  const socket = through ?? connectTcp({ host: target.address, port: portOf(target), noDelay: true });
  const opened = new Promise<Connection>((resolve, reject) => {
    let refused: Fault | undefined;
    const fail = (error: unknown): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(refused ?? asFault(target, error));
    };
    const timer = setTimeout(() => fail(connectDeadlineFault(target, deadline)), deadline);
    const connection = new Connection(target, client, socket);
    // It stays for the life of the connection: what breaks later shows as the end of sessions.
    client.on('error', fail);
    client.once('close', () => fail(lostFault(target)));
    client.once('ready', () => {
      clearTimeout(timer);
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
  return { opened, abandon: () => socket.destroy() };
}

function authentication({ user, password }: Target, key: ParsedKey): AnyAuthMethod {
  if (password !== undefined) return { type: 'password', username: user, password };
  return { type: 'publickey', username: user, key };
}
