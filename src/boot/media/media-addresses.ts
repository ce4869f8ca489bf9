import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIP, isIPv6 } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { formatListen, type ListenAddress, parseListen } from '../../core/host-address.ts';

const anyPort = 9;

/** The address of this machine from which packets to another one go; nothing is sent. */
async function localAddress(host: string): Promise<string> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  try {
    socket.connect(anyPort, host);
    await once(socket, 'connect');
    return socket.address().address;
  } catch (error) {
    throw new Fault('unavailable', `muster has no way to ${host}: ${(error as Error).message}.`);
  } finally {
    socket.close();
  }
}

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Which of the addresses where this server listens somebody reaches best. */
export async function reached(listen: readonly ListenAddress[], from: string): Promise<ListenAddress> {
  const [first, ...others] = listen;
  if (!first) throw new Fault('invalid', 'This server serves no boot files: set boot.listen.');
  if (others.length === 0 && !isWildcard(first.host)) return first;
  const host = await localAddress(from);
  const fitting = listen.find((each) => each.host === host) ?? listen.find((each) => isWildcard(each.host));
  return fitting ? { host, port: fitting.port } : first;
}

/** The host of an address of a BMC as targets have it, with or without a port. */
export function hostOf(address: string): string {
  if (isIP(address) !== 0) return address;
  return parseListen(address)?.host ?? address;
}

/** As URLs begin: by HTTPS where that is served, since some BMCs fetch by nothing else. */
export async function mediaBase(
  { secure, plain }: { readonly secure: readonly ListenAddress[]; readonly plain: readonly ListenAddress[] },
  bmc: string,
): Promise<string> {
  const [scheme, listen, usual] =
    secure.length > 0 ? (['https', secure, 443] as const) : (['http', plain, 80] as const);
  const at = await reached(listen, hostOf(bmc));
  const whole = formatListen(at);
  return `${scheme}://${at.port === usual ? whole.replace(/:\d+$/, '') : whole}`;
}
