import { connect, isIP, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls';
import { Fault, NothingListens, Unreachable } from '../../core/errors.ts';
import { cancelled, onAbort } from '../../core/waiting.ts';

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
      reject(new NothingListens(`libvirt cannot be reached at ${path}: ${why}`, { cause: error }));
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      resolve(socket);
    });
  });
}

export const tlsPort = 16_514;

/** Where a daemon listens, and what its certificate has to say. */
export interface TlsPlace {
  readonly name: string;
  readonly address: string;
}

/** In PEM: the authority of both sides, and who we are. */
export interface TlsCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const refusals: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; does its libvirt daemon take TLS?',
  EHOSTUNREACH: 'there is no route to it.',
  ETIMEDOUT: 'it does not answer.',
};

/** What the daemon says once it has found our certificate right. */
const welcome = 1;

/** A stream to a daemon elsewhere, on which both sides have shown their certificates. */
export function openTls(
  { name, address }: TlsPlace,
  credentials: TlsCredentials,
  signal: AbortSignal,
  port = tlsPort,
): Promise<Duplex> {
  const where = `${name} (${address}, port ${port})`;
  if (signal.aborted) return Promise.reject(cancelled(signal));
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      ...credentials,
      host: address,
      port,
      minVersion: 'TLSv1.2',
      ...(isIP(name) ? {} : { servername: name }),
      checkServerIdentity: (_address, certificate) => checkServerIdentity(name, certificate),
    });
    const fail = (fault: Fault): void => {
      ignore();
      socket.destroy();
      reject(fault);
    };
    const ignore = onAbort(signal, () => fail(cancelled(signal)));
    const broken = (error: NodeJS.ErrnoException): void => {
      if (error.syscall === 'connect') {
        const why = refusals[error.code ?? ''] ?? `${error.message}.`;
        const Kind = error.code === 'ECONNREFUSED' ? NothingListens : Unreachable;
        fail(new Kind(`libvirt on ${where} cannot be reached: ${why}`, { cause: error }));
      } else
        fail(
          new Fault('invalid', `libvirt on ${where} is not to be trusted or does not trust us: ${error.message}.`, {
            cause: error,
          }),
        );
    };
    const closed = (): void =>
      fail(new Fault('invalid', `libvirt on ${where} has closed the connection: it may not accept our certificate.`));
    const readable = (): void => {
      const first = socket.read(1) as Buffer | null;
      if (first === null) return;
      ignore();
      socket.off('readable', readable).off('error', broken).off('end', closed).off('close', closed);
      if (first[0] === welcome) resolve(messageByMessage(socket));
      else fail(new Fault('invalid', `libvirt on ${where} does not accept our certificate.`));
    };
    socket.on('error', broken).on('end', closed).on('close', closed).on('readable', readable);
  });
}

/** Writes of one moment become one record of TLS; of two messages in one, a daemon reads the second only when more has come. */
function messageByMessage(socket: TLSSocket): Duplex {
  const stream = new Duplex({
    read: () => void socket.resume(),
    write: (bytes: Buffer, _encoding, written) => void socket.write(bytes, written),
    destroy(error, destroyed) {
      socket.destroy();
      destroyed(error);
    },
  });
  socket.on('data', (piece: Buffer) => {
    if (!stream.push(piece)) socket.pause();
  });
  socket.on('end', () => stream.push(null));
  socket.on('error', (error) => stream.destroy(error));
  socket.on('close', () => stream.destroy());
  return stream;
}
