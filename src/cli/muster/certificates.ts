import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import { NotReached } from '../errors.ts';
import type { Place } from '../places.ts';

export interface Shown {
  /** The highest certificate that the server shows: its authority, or its own where it shows no other. */
  readonly top: X509Certificate;
  readonly own: X509Certificate;
  /** An authority that is known here has signed it. */
  readonly trusted: boolean;
  /** Why not. */
  readonly reason: string | undefined;
}

const timeout = 10_000;

/** What a server shows before anything is believed. Nothing is sent to it. */
export function certificateOf({ host, port, ca, shown }: Place): Promise<Shown> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      rejectUnauthorized: false,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
    });
    const fail = (reason: string) => {
      socket.destroy();
      reject(new NotReached(shown, reason));
    };
    socket.setTimeout(timeout, () => fail('it does not answer'));
    socket.once('error', (error: NodeJS.ErrnoException) => fail(reasonOf(error)));
    socket.once('secureConnect', () => {
      const own = socket.getPeerCertificate(true);
      const shownOnes = { own: new X509Certificate(own.raw), top: new X509Certificate(topOf(own).raw) };
      // What Node calls an error here may be a text or an Error.
      const error = socket.authorizationError as Error | string | null | undefined;
      const reason = error ? String((error as { code?: string }).code ?? error) : undefined;
      socket.destroy();
      resolve({ ...shownOnes, trusted: socket.authorized, reason });
    });
  });
}

function topOf(certificate: DetailedPeerCertificate): DetailedPeerCertificate {
  let top = certificate;
  while (top.issuerCertificate && top.issuerCertificate.fingerprint256 !== top.fingerprint256)
    top = top.issuerCertificate;
  return top;
}

const reasonOf = ({ code, message }: NodeJS.ErrnoException): string =>
  code === 'ECONNREFUSED'
    ? 'Connection refused'
    : code === 'ENOTFOUND' || code === 'EAI_AGAIN'
      ? 'the name of the host is not known'
      : code === 'EPROTO' || code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code?.startsWith('ERR_SSL')
        ? 'what answers there does not speak TLS'
        : code === 'ECONNRESET'
          ? 'the connection was closed'
          : message;
