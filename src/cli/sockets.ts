import net, { type Socket } from 'node:net';
import type { Place } from './places.ts';

const keepAliveAfter = 30_000;

/** TLS is loaded for those who need it: over the socket of this machine nobody does. */
export async function socketOpener({ protocol, host, port, socket: file, ca }: Place): Promise<() => Socket> {
  if (file !== undefined) return () => net.connect(file);
  const tls = protocol === 'https:' ? await import('node:tls') : undefined;
  return () => {
    const socket = tls
      ? tls.connect({
          host,
          port,
          ...(net.isIP(host) === 0 ? { servername: host } : {}),
          // Whatever the environment says to other programs.
          rejectUnauthorized: true,
          // The one that was agreed to at login may be the server's own, where it shows no other.
          ...(ca === undefined ? {} : { ca, allowPartialTrustChain: true }),
        })
      : net.connect({ host, port, noDelay: true });
    socket.setKeepAlive(true, keepAliveAfter);
    return socket;
  };
}
