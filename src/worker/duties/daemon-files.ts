import { createHash } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory, writeFileAtomically } from '../../core/files.ts';
import { formatListen, type ListenAddress } from '../../core/host-address.ts';
import type { DaemonSpec, User } from '../../names/index.ts';
import { isTaken, listensOn } from './sockets.ts';

/**
 * Writes the configuration of a daemon into a file that is named by its content: a daemon that an earlier worker has left is known by its
 * command to have the same one. `reader`: the user that the daemon runs as, unless it is that of the worker.
 */
export function configurationFile(directory: string, name: string, text: string, reader?: User): string {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const own = `${name}-${hash}.conf`;
  makeDirectory(directory);
  if (reader) writeFileAtomically(join(directory, own), text, 0o640, { uid: process.getuid!(), gid: reader.gid });
  else writeFileAtomically(join(directory, own), text, 0o600);
  for (const file of readdirSync(directory))
    if (file !== own && file.startsWith(`${name}-`) && file.endsWith('.conf')) rmSync(join(directory, file));
  return join(directory, own);
}

/** How a daemon that listens by TCP is known to serve: by a socket of its own, since the port may be that of another program. */
export const readyAt = (name: string, address: ListenAddress): Pick<DaemonSpec, 'ready' | 'obstacle'> => ({
  ready: (pid) => Promise.resolve(listensOn(address, pid)),
  obstacle: (pid) =>
    isTaken(address, pid)
      ? `${name} cannot listen on ${formatListen(address)}, because another program does. Run "ss -lntp" on this machine to see which, and stop it.`
      : undefined,
});
