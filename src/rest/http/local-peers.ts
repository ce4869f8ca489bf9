import { execFile } from 'node:child_process';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { libc } from '../../core/libc.ts';

/** Numbers of Linux, the same on all machines that muster runs on. */
const socketLevel = 1;
const peerCredentials = 17;
const credentialsSize = 12;

/** Who opened a connection to one of our sockets, as the kernel knows it; undefined where it does not. */
function userOf(fd: number): number | undefined {
  const credentials = Buffer.alloc(credentialsSize);
  const size = Buffer.alloc(4);
  size.writeInt32LE(credentialsSize);
  if (
    libc().getsockopt(fd, socketLevel, peerCredentials, credentials, size) !== 0 ||
    size.readInt32LE() !== credentialsSize
  )
    return undefined;
  return credentials.readUInt32LE(4);
}

const users = new WeakMap<object, number>();
let connections = 0;

/** The user of this machine who opened a connection; undefined for connections from elsewhere. */
export const localUser = (connection: object): number | undefined => users.get(connection);

/** Lets a server ask for every connection which user of this machine it is from. They count as coming from this machine's own address. */
export function watchLocalPeers(server: Server): void {
  // Before all others, which look at the address.
  server.prependListener('connection', (socket: Socket) => {
    const { _handle: handle } = socket as unknown as { _handle?: { fd?: number } };
    const fd = handle?.fd;
    const user = fd === undefined || fd < 0 ? undefined : userOf(fd);
    if (user === undefined) {
      socket.destroy();
      return;
    }
    users.set(socket, user);
    connections += 1;
    Object.defineProperty(socket, 'remoteAddress', { value: '127.0.0.1' });
    // Connections are distinguished by it.
    Object.defineProperty(socket, 'remotePort', { value: `local ${connections}` });
  });
}

const nameTimeout = 5_000;

/** What the machine calls a user; undefined if it has no such. */
export const nameOfUser = (user: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    execFile('getent', ['passwd', String(user)], { timeout: nameTimeout }, (error, stdout) =>
      resolve(error ? undefined : stdout.split(':', 1)[0] || undefined),
    );
  });
