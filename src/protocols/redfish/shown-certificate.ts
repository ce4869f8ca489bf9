import type { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { Fault, Unreachable } from '../../core/errors.ts';
import { formatListen, type ListenAddress } from '../../core/host-address.ts';
import { abortFault } from './abort.ts';
import { transportFault } from './faults.ts';
import { contextFor, type Encrypted } from './trust.ts';

/** The certificate that is shown there now: a connection is opened, nothing is sent, and nothing is judged but what `ca` has signed. */
export function shownCertificate(
  at: ListenAddress,
  transport: Encrypted,
  ca: string | undefined,
  timeout: number,
  signal: AbortSignal,
): Promise<X509Certificate> {
  const where = formatListen(at);
  return new Promise((resolve, reject) => {
    const socket = connect({
      ...at,
      servername: isIP(at.host) ? '' : at.host,
      ALPNProtocols: ['http/1.1'],
      secureContext: contextFor(transport, ca),
      rejectUnauthorized: ca !== undefined,
    });
    const end = (outcome: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      outcome();
      socket.destroy();
    };
    const fail = (error: unknown): void => end(() => reject(error));
    const aborted = (): void => fail(abortFault(signal));
    const timer = setTimeout(
      () => fail(new Unreachable(`its BMC at ${where} did not answer within ${timeout / 1_000} s.`)),
      timeout,
    );
    socket.once('error', (error) => fail(transportFault(error, where)));
    socket.once('close', () => fail(new Fault('unavailable', `its BMC at ${where} closed the connection.`)));
    socket.once('secureConnect', () => {
      const certificate = socket.getPeerX509Certificate();
      if (certificate) end(() => resolve(certificate));
      else fail(new Fault('garbled', `what answers at ${where} shows no certificate.`));
    });
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted);
  });
}
