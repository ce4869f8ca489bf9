import { readFileSync } from 'node:fs';
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { Client } from 'ldapts';

/** More than all of an account's groups take. */
const mostBytes = 16 << 20;
/** A request for StartTLS with the number 1, and how its answer begins if the server agrees: (RFC 4511, 4.14). */
const startTls = Buffer.from('301d02010177188016312e332e362e312e342e312e313436362e3230303337', 'hex');

export interface LdapServer {
  readonly url: string;
  readonly ca: string | undefined;
  /** Milliseconds for everything. */
  readonly timeout: number;
}

/** The server was not reached, or did not answer as a directory does. */
export class ServerAway extends Error {}

/**
 * Does something at one server, over TLS with a verified certificate, within the timeout. The client gets one connection that is ready, and
 * never another: by itself it would connect again without TLS.
 */
export async function atServer<T>(server: LdapServer, work: (client: Client) => Promise<T>): Promise<T> {
  const end = new AbortController();
  const timer = setTimeout(
    () => end.abort(new ServerAway(`no answer within ${server.timeout / 1_000} s`)),
    server.timeout,
  );
  let socket: Socket | undefined;
  const timedOut = new Promise<never>((_resolve, reject) => {
    end.signal.addEventListener('abort', () => reject(end.signal.reason as Error), { once: true });
  });
  timedOut.catch(() => undefined);
  try {
    return await Promise.race([timedOut, withClient()]);
  } finally {
    clearTimeout(timer);
    socket?.destroy();
  }

  async function withClient(): Promise<T> {
    socket = await secureConnection(server, end.signal);
    // It may be all over.
    if (end.signal.aborted) socket.destroy();
    end.signal.throwIfAborted();
    boundBytes(socket);
    let ready: Socket | undefined = socket;
    const client = new Client({
      url: 'ldap://muster',
      timeout: server.timeout,
      createConnection() {
        const given = ready;
        if (!given) throw new ServerAway('the connection broke off');
        ready = undefined;
        return given;
      },
    });
    return work(client);
  }
}

function boundBytes(socket: Socket): void {
  let left = mostBytes;
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) socket.destroy(new Error(`The server sent more than ${mostBytes} bytes.`));
  });
}

async function secureConnection({ url, ca }: LdapServer, signal: AbortSignal): Promise<Socket> {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replaceAll(/[[\]]/g, '');
  // Read each time: it may be renewed.
  const trusted = ca === undefined ? {} : { ca: readFileSync(ca) };
  const options = { ...trusted, ...(isIP(host) ? {} : { servername: host }), host, rejectUnauthorized: true };
  if (protocol === 'ldaps:') return secured(connectTls({ ...options, port: Number(port || 636) }), signal);
  const plain = connectPlain({ host, port: Number(port || 389) });
  try {
    await once(plain, 'connect', signal);
    await askForTls(plain, signal);
    return await secured(connectTls({ ...options, socket: plain }), signal);
  } catch (error) {
    plain.destroy();
    throw error;
  }
}

async function secured(socket: TLSSocket, signal: AbortSignal): Promise<Socket> {
  try {
    await once(socket, 'secureConnect', signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Whatever comes in clear text besides the answer could be meant to be taken for what comes protected later. */
async function askForTls(socket: Socket, signal: AbortSignal): Promise<void> {
  socket.write(startTls);
  let answer = Buffer.alloc(0);
  while (answer.length < 2 || answer.length < 2 + answer[1]!) {
    if (answer.length >= 2 && answer[1]! >= 0x80) throw new ServerAway('its answer to StartTLS was not understood');
    const chunk = await nextChunk(socket, signal);
    answer = Buffer.concat([answer, chunk]);
  }
  const isWhole = answer.length === 2 + answer[1]!;
  // LDAPMessage { messageID 1, extendedResp { resultCode success ...
  if (!isWhole || answer[0] !== 0x30 || answer.subarray(2, 5).toString('hex') !== '020101' || answer[5] !== 0x78)
    throw new ServerAway('its answer to StartTLS was not understood');
  if (answer.subarray(7, 10).toString('hex') !== '0a0100') throw new ServerAway('it does not offer StartTLS');
}

function nextChunk(socket: Socket, signal: AbortSignal): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void) => (): void => {
      socket.pause();
      socket.off('data', heard).off('error', failed).off('close', closed);
      signal.removeEventListener('abort', aborted);
      done();
    };
    const heard = (chunk: Buffer): void => settle(() => resolve(chunk))();
    const failed = (error: Error): void => settle(() => reject(error))();
    const closed = settle(() => reject(new ServerAway('it closed the connection')));
    const aborted = settle(() => reject(signal.reason as Error));
    signal.addEventListener('abort', aborted, { once: true });
    socket.on('data', heard).on('error', failed).on('close', closed).resume();
  });
}

function once(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void): void => {
      socket.off(event, ready).off('close', closed);
      signal.removeEventListener('abort', aborted);
      done();
    };
    const ready = (): void => settle(resolve);
    const closed = (): void => settle(() => reject(new ServerAway('it closed the connection')));
    const aborted = (): void => settle(() => reject(signal.reason as Error));
    signal.addEventListener('abort', aborted, { once: true });
    socket.once(event, ready).once('close', closed);
    // Stays: an error that nobody hears would end the process.
    socket.on('error', (error) => settle(() => reject(error)));
  });
}
