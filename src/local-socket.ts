import { once } from 'node:events';
import { chmodSync, lstatSync, rmSync } from 'node:fs';
import type { Server } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Context } from './context.ts';
import { Fault } from './core/errors.ts';
import type { Endpoint } from './rest/endpoints/endpoint.ts';
import { watchLocalPeers } from './rest/http/local-peers.ts';
import { createServer } from './rest/http/server.ts';

/** More does not fit into the address of a socket. */
const longest = 107;

/** Opens the socket by which users of this machine reach the service; the kernel says who they are. */
export async function openLocalSocket(context: Context, rows: readonly Endpoint[]): Promise<Server | undefined> {
  const { config, log } = context;
  if (!config.socket.enabled) return undefined;
  const path = config.socket.path ?? join(config.data, 'muster.sock');
  if (Buffer.byteLength(path) > longest) {
    const sentence = `The path of the socket, ${path}, is longer than ${longest} bytes`;
    if (config.socket.path !== undefined) throw new Fault('invalid', `${sentence}; choose another in socket.path.`);
    log.warn(`${sentence}: there is none. Choose another in socket.path.`);
    return undefined;
  }
  await removeOld(path);
  const server = createServer(context, undefined, rows);
  watchLocalPeers(server);
  try {
    await once(server.listen({ path }), 'listening');
    // Everybody may ask; who they are decides what they get.
    chmodSync(path, 0o666);
  } catch (error) {
    server.close();
    throw new Fault('unavailable', `Cannot listen on the socket ${path}: ${(error as Error).message}.`);
  }
  return server;
}

/** One that a server left behind which was killed; one that answers is another server's. */
async function removeOld(path: string): Promise<void> {
  try {
    if (!lstatSync(path).isSocket())
      throw new Fault(
        'unavailable',
        `${path} is not a socket and was not changed. Remove it, or choose another in socket.path.`,
      );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (await answers(path))
    throw new Fault(
      'unavailable',
      `Another server listens on the socket ${path}. Stop it, or choose another in socket.path.`,
    );
  rmSync(path, { force: true });
}

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
