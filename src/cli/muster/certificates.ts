import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect, type DetailedPeerCertificate } from 'node:tls';
import { notReached } from '../not-reached.ts';
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
export function certificateOf(place: Place): Promise<Shown> {
  const { host, port, ca } = place;
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      rejectUnauthorized: false,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
    });
    const fail = (error: Error) => {
      socket.destroy();
      reject(notReached(place, error));
    };
    socket.setTimeout(timeout, () => fail(new Error('it does not answer')));
    socket.once('error', fail);
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
