import { constants } from 'node:crypto';
import { connect as connectPlainly, isIP, type Socket } from 'node:net';
import { connect, createSecureContext, DEFAULT_CIPHERS, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { buildConnector } from 'undici';
import { Fault, Unreachable } from '../../core/errors.ts';
import { formatListen, type ListenAddress } from '../../core/host-address.ts';
import type { Pace } from '../../core/pace.ts';
import { secondsSince, transportFault } from './faults.ts';

/**
 * What a service may speak: TLS 1.2 or newer; TLS 1.0 and 1.1 too, with keys and signatures that are too weak today; or HTTP, which
 * shows account and commands to everybody on the way. The latter two only where somebody has said so of that service.
 */
export const transports = ['tls', 'oldtls', 'http'] as const;
export type Transport = (typeof transports)[number];

export const isTransport = (text: string): text is Transport => (transports as readonly string[]).includes(text);

export const portOf = ({
  port,
  transport,
}: {
  readonly port?: number | undefined;
  readonly transport?: Transport | undefined;
}): number => port ?? (transport === 'http' ? 80 : 443);

/** Certificates: the fingerprint shown first is the one that must be shown from then on. */
export interface Trust {
  known(key: string): string | undefined;
  learn(key: string, fingerprint: string): Promise<void>;
  /** How a user makes the next certificate the first one again. */
  howToForget?(key: string): string;
  /** A certificate authority that signs the certificates instead, as PEM. */
  readonly ca?: string | undefined;
}

type Encrypted = Exclude<Transport, 'http'>;

// With DHE a service picks the numbers that we compute with; if they have ten thousand bits, that takes a second.
const ciphers = `${DEFAULT_CIPHERS}:!DHE`;
const versions: Readonly<Record<Encrypted, Pick<SecureContextOptions, 'minVersion' | 'ciphers'>>> = {
  tls: { minVersion: 'TLSv1.2', ciphers },
  // Before TLS 1.2 signatures are by SHA-1 and MD5, which no higher level takes.
  oldtls: { minVersion: 'TLSv1', ciphers: `${ciphers}:@SECLEVEL=0` },
};

const contexts: Readonly<Record<Encrypted, Map<string | undefined, SecureContext>>> = {
  tls: new Map(),
  oldtls: new Map(),
};

/** One for all connections: making one takes longer than a request. */
function contextFor(transport: Encrypted, ca: string | undefined): SecureContext {
  let context = contexts[transport].get(ca);
  if (!context) {
    context = createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...versions[transport],
      // Each renegotiation costs us a handshake, and a service may ask for any number of them.
      secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    });
    contexts[transport].set(ca, context);
  }
  return context;
}

/** How long a connection is waited for: up to twice as long while all are slow to come, for then it is us or the way to all of them. */
export interface Waiting {
  readonly timeout: number;
  readonly pace: Pace;
}

/** Opens TLS connections and hands out only those whose certificate is accepted, so that no credential goes to a stranger. */
export function trustingConnector(
  at: ListenAddress,
  transport: Encrypted,
  ca: string | undefined,
  waiting: Waiting,
  accept: (fingerprint: string) => Promise<void>,
): buildConnector.connector {
  const where = formatListen(at);
  return (_options, callback) => {
    const socket = connect({
      ...at,
      servername: isIP(at.host) ? '' : at.host,
      ALPNProtocols: ['http/1.1'],
      secureContext: contextFor(transport, ca),
      // Every connection is checked below or by the authority; a resumed one would not show its certificate again.
      rejectUnauthorized: ca !== undefined,
    });
    const finish = opening(socket, where, waiting, callback);
    socket.once('secureConnect', () => {
      if (ca !== undefined) return finish();
      const shown = socket.getPeerX509Certificate()?.fingerprint256;
      if (shown === undefined) return finish(new Fault('garbled', `what answers at ${where} shows no certificate.`));
      accept(shown).then(
        () => finish(),
        (error: unknown) => finish(transportFault(error, where)),
      );
    });
  };
}

/** Opens connections that nothing protects, for services of which somebody has said that they are to be reached so. */
export function plainConnector(at: ListenAddress, waiting: Waiting): buildConnector.connector {
  return (_options, callback) => {
    const socket = connectPlainly(at);
    const finish = opening(socket, formatListen(at), waiting, callback);
    socket.once('connect', () => finish());
  };
}

/** Returns what is called once with how it went; in time, or else a Fault says that nothing answered. */
function opening(
  socket: Socket,
  where: string,
  { timeout, pace }: Waiting,
  callback: buildConnector.Callback,
): (fault?: Fault) => void {
  let done = false;
  const began = performance.now();
  const finish = (fault?: Fault): void => {
    if (done) return;
    done = true;
    clearTimeout(timer);
    if (fault) {
      socket.destroy();
      callback(fault, null);
    } else {
      const now = performance.now();
      pace.note(now - began, now);
      watchForFlood(socket, where);
      callback(null, socket);
    }
  };
  const expire = (): void => {
    const now = performance.now();
    const left = began + timeout + pace.extra(timeout, now) - now;
    if (left >= 1) timer = setTimeout(expire, left);
    else finish(new Unreachable(`its BMC at ${where} did not answer within ${secondsSince(began)} s.`));
  };
  let timer = setTimeout(expire, timeout);
  socket.setNoDelay(true).setKeepAlive(true, 60_000);
  socket.on('error', (error) => finish(transportFault(error, where)));
  socket.once('close', () => finish(new Fault('unavailable', `its BMC at ${where} closed the connection.`)));
  return finish;
}

/** How often it is looked, in milliseconds. */
const interval = 1_000;
/** Bytes within that time: several of the largest collections, and more than the network of a BMC carries. */
const most = 32 * 1024 * 1024;

/** Sockets with where they lead, and how many bytes had come when they were last looked at. */
const watched = new Map<Socket, { readonly where: string; before: number }>();
let timer: NodeJS.Timeout | undefined;

/** Ends a connection that brings more than anybody asks for: what is part of no body is counted nowhere else. */
function watchForFlood(socket: Socket, where: string): void {
  watched.set(socket, { where, before: socket.bytesRead });
  socket.once('close', () => {
    watched.delete(socket);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
  timer ??= setInterval(look, interval).unref();
}

function look(): void {
  for (const [socket, known] of watched) {
    const received = socket.bytesRead - known.before;
    known.before += received;
    if (received <= most) continue;
    socket.destroy(new Fault('garbled', `what answers at ${known.where} sent ${received} bytes within a second.`));
  }
}
