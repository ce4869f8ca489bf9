import { constants, type X509Certificate } from 'node:crypto';
import { connect as connectPlainly, isIP, type Socket } from 'node:net';
import { connect, createSecureContext, DEFAULT_CIPHERS, type SecureContext, type SecureContextOptions } from 'node:tls';
import type { buildConnector } from 'undici';
import { Fault, Unreachable } from '../../core/errors.ts';
import { formatListen, type ListenAddress } from '../../core/host-address.ts';
import type { Pace } from '../../core/pace.ts';
import { secondsSince, transportFault } from './faults.ts';
import type { Handshakes } from './handshakes.ts';

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
  /** The one that muster has given to the service, which may show it from now on. */
  next?(key: string): string | undefined;
  /** Whether it is the one that muster has given to the service since; it is then the one that counts. */
  succeeds?(key: string, fingerprint: string): Promise<boolean>;
  /** How a user makes the next certificate the first one again. */
  howToForget?(key: string): string;
  /** A certificate authority that signs the certificates instead, as PEM. */
  readonly ca?: string | undefined;
}

export type Encrypted = Exclude<Transport, 'http'>;

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
export function contextFor(transport: Encrypted, ca: string | undefined): SecureContext {
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

/** How long each step of a connection is waited for: up to twice as long while all are slow, for then it is us or the way to all of them. */
export interface Waiting {
  readonly timeout: number;
  readonly pace: Pace;
}

export interface TlsWaiting extends Waiting {
  readonly handshakes: Handshakes;
}

/** What a service has shown of itself when it was connected to. */
export interface Peer {
  /** Such as `TLSv1.3`. */
  readonly protocol: string;
  /** In milliseconds, when its certificate ends; undefined: it shows none that can be read. */
  readonly ends: number | undefined;
  readonly isSelfSigned: boolean;
}

function peerOf(protocol: string | null, certificate: X509Certificate | undefined): Peer {
  const ends = certificate && Date.parse(certificate.validTo);
  return {
    protocol: protocol ?? '',
    ends: ends === undefined || Number.isNaN(ends) ? undefined : ends,
    isSelfSigned: certificate !== undefined && certificate.issuer === certificate.subject,
  };
}

/** Opens TLS connections and hands out only those whose certificate is accepted, so that no credential goes to a stranger. */
export function trustingConnector(
  at: ListenAddress,
  transport: Encrypted,
  ca: string | undefined,
  waiting: TlsWaiting,
  accept: (fingerprint: string) => Promise<void>,
  seen: (peer: Peer) => void,
): buildConnector.connector {
  const where = formatListen(at);
  return (_options, callback) => {
    const plain = connectPlainly(at);
    const opening = new Opening(plain, where, waiting, callback);
    plain.once('connect', () => {
      opening.pause();
      waiting.handshakes.begin((over) => {
        if (opening.isOver) return over();
        const socket = connect({
          socket: plain,
          // For the certificate of an authority.
          host: at.host,
          servername: isIP(at.host) ? '' : at.host,
          ALPNProtocols: ['http/1.1'],
          secureContext: contextFor(transport, ca),
          // Every connection is checked below or by the authority; a resumed one would not show its certificate again.
          rejectUnauthorized: ca !== undefined,
        });
        opening.goOn(socket, over);
        socket.once('secureConnect', () => {
          // It can be asked for once.
          const certificate = socket.getPeerX509Certificate();
          seen(peerOf(socket.getProtocol(), certificate));
          if (ca !== undefined) return opening.end();
          const shown = certificate?.fingerprint256;
          if (shown === undefined)
            return opening.end(new Fault('garbled', `what answers at ${where} shows no certificate.`));
          accept(shown).then(
            () => opening.end(),
            (error: unknown) => opening.end(transportFault(error, where)),
          );
        });
      });
    });
  };
}

/** Opens connections that nothing protects, for services of which somebody has said that they are to be reached so. */
export function plainConnector(at: ListenAddress, waiting: Waiting): buildConnector.connector {
  return (_options, callback) => {
    const socket = connectPlainly(at);
    const opening = new Opening(socket, formatListen(at), waiting, callback);
    socket.once('connect', () => opening.end());
  };
}

/** A connection that is being opened, step by step. Its end is called back once; a step that takes too long ends it. */
class Opening {
  readonly #where: string;
  readonly #waiting: Waiting;
  readonly #callback: buildConnector.Callback;
  #socket: Socket;
  #began = performance.now();
  #timer: NodeJS.Timeout;
  #step = 0;
  #whenOver: (() => void) | undefined;
  #isOver = false;

  constructor(socket: Socket, where: string, waiting: Waiting, callback: buildConnector.Callback) {
    this.#where = where;
    this.#waiting = waiting;
    this.#callback = callback;
    this.#socket = socket;
    this.#timer = this.#startClock();
    socket.setNoDelay(true).setKeepAlive(true, 60_000);
    this.#watch(socket);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** What follows depends on us: the service has as much time as it likes. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#step++;
  }

  /** The next step begins, on a socket that is built upon the other. */
  goOn(socket: Socket, whenOver: () => void): void {
    this.#socket = socket;
    this.#whenOver = whenOver;
    this.#watch(socket);
    this.#timer = this.#startClock();
  }

  /** Well, or with a Fault. */
  end(fault?: Fault): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#whenOver?.();
    if (fault) {
      this.#socket.destroy();
      this.#callback(fault, null);
      return;
    }
    const now = performance.now();
    this.#waiting.pace.note(now - this.#began, now);
    watchForFlood(this.#socket, this.#where);
    this.#callback(null, this.#socket);
  }

  #watch(socket: Socket): void {
    socket.on('error', (error) => this.end(transportFault(error, this.#where)));
    socket.once('close', () => this.end(new Fault('unavailable', `its BMC at ${this.#where} closed the connection.`)));
  }

  #startClock(): NodeJS.Timeout {
    this.#began = performance.now();
    return setTimeout(() => this.#expire(), this.#waiting.timeout);
  }

  #expire(): void {
    const { timeout, pace } = this.#waiting;
    const now = performance.now();
    const left = this.#began + timeout + pace.extra(timeout, now) - now;
    if (left >= 1) this.#timer = setTimeout(() => this.#expire(), left);
    // A process that was held up sees that the time is over before it sees what came in time.
    else setImmediate((step: number) => this.#giveUp(step), this.#step);
  }

  #giveUp(step: number): void {
    if (this.#step !== step) return;
    this.end(new Unreachable(`its BMC at ${this.#where} did not answer within ${secondsSince(this.#began)} s.`));
  }
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
