import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import type { buildConnector } from 'undici';
import { Fault, Unreachable } from '../../core/errors.ts';
import { transportFault } from './faults.ts';

/** Certificates: the fingerprint shown first is the one that must be shown from then on. */
export interface Trust {
  known(key: string): string | undefined;
  learn(key: string, fingerprint: string): Promise<void>;
  /** How a user makes the next certificate the first one again. */
  howToForget?(key: string): string;
  /** A certificate authority that vouches instead, as PEM. */
  readonly ca?: string | undefined;
}

export interface Peer {
  /** Under which the fingerprint is kept: the name of the node. */
  readonly key: string;
  readonly address: string;
  readonly port: number;
}

/** Opens TLS connections and hands out only those whose certificate is trusted, so that no credential goes to a stranger. */
export function trustingConnector(peer: Peer, trust: Trust, timeout: number): buildConnector.connector {
  const where = placeOf(peer);
  return (_options, callback) => {
    const socket = connect({
      host: peer.address,
      port: peer.port,
      servername: isIP(peer.address) ? '' : peer.address,
      ALPNProtocols: ['http/1.1'],
      // Every connection is checked below or by the authority; a resumed one would not show its certificate again.
      rejectUnauthorized: trust.ca !== undefined,
      ...(trust.ca === undefined ? {} : { ca: trust.ca }),
    });
    let done = false;
    const finish = (fault: Fault | undefined): void => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      if (fault) {
        socket.destroy();
        callback(fault, null);
      } else callback(null, socket);
    };
    const timer = setTimeout(() => {
      finish(new Unreachable(`its service processor at ${where} did not answer within ${timeout / 1_000} s.`));
    }, timeout);
    socket.setNoDelay(true).setKeepAlive(true, 60_000);
    socket.on('error', (error) => finish(transportFault(error, where)));
    socket.once('close', () =>
      finish(new Fault('unavailable', `its service processor at ${where} closed the connection.`)),
    );
    socket.once('secureConnect', () => {
      const checked = trust.ca === undefined ? check(socket, peer, trust) : undefined;
      if (checked instanceof Promise) checked.then(finish, (error: unknown) => finish(transportFault(error, where)));
      else finish(checked);
    });
  };
}

function check(socket: TLSSocket, peer: Peer, trust: Trust): Fault | undefined | Promise<undefined> {
  const shown = socket.getPeerX509Certificate()?.fingerprint256;
  if (shown === undefined) return new Fault('garbled', `what answers at ${placeOf(peer)} shows no certificate.`);
  const known = trust.known(peer.key);
  if (known === undefined) return trust.learn(peer.key, shown).then(() => undefined);
  if (sameFingerprint(known, shown)) return undefined;
  const remedy = trust.howToForget ? ` (${trust.howToForget(peer.key)})` : '';
  return new Fault(
    'invalid',
    `the certificate of its service processor at ${placeOf(peer)} has changed, and nothing was sent to it. ` +
      `The SHA-256 fingerprint known since first use is ${known}, the one shown now is ${shown}. ` +
      `If the change is expected (a new board, a new certificate), remove the fingerprint stored for ${peer.key}${remedy}; ` +
      'the next request then accepts the new one.',
  );
}

function sameFingerprint(a: string, b: string): boolean {
  const plain = (text: string): string => text.replaceAll(':', '').toLowerCase();
  return plain(a) === plain(b);
}

export function placeOf({ address, port }: { readonly address: string; readonly port: number }): string {
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}
