import { connect, type Socket } from 'node:net';
import { Unreachable } from '../../core/errors.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such socket; is its libvirt daemon running?',
  ECONNREFUSED: 'nobody answers there; is its libvirt daemon running?',
  EACCES: 'muster may not open it.',
};

/** The UNIX socket of a daemon on this machine, open. */
export function openSocket(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    const fail = (error: NodeJS.ErrnoException): void => {
      const why = reasons[error.code ?? ''] ?? `${error.message}.`;
      reject(new Unreachable(`libvirt cannot be reached at ${path}: ${why}`, { cause: error }));
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
