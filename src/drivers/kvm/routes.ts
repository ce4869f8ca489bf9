import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { Fault, unlessFault } from '../../core/errors.ts';
import { openSocket, openTls, type TlsCredentials, type TlsPlace } from '../../protocols/libvirt/streams.ts';
import type { HostRoute, RemoteHosts } from '../driver.ts';

export const defaultSocket = '/run/libvirt/libvirt-sock';

/** How hypervisors are reached. A route is plain data. */
export interface HypervisorRoutes {
  /** Found where the database is; a Fault says why there is none. */
  find(host: string): Promise<unknown>;
  /** Where it leads, by what muster knows. What a hypervisor says of itself, such as its UUID, any other can say too. */
  placeOf(route: unknown): string;
  /** A stream to the libvirt daemon there. */
  open(route: unknown, signal: AbortSignal): Promise<Duplex>;
}

/** Every hypervisor is this machine. */
export const onlyHere = (socket = defaultSocket): HypervisorRoutes => ({
  find: async () => null,
  placeOf: () => socket,
  open: () => openSocket(socket),
});

/** Who talks to libvirt's daemon has to be this user. */
const user = 'root';

/** The names that libvirt itself gives these files. */
const files: Readonly<Record<keyof TlsCredentials, string>> = {
  ca: 'cacert.pem',
  cert: 'clientcert.pem',
  key: 'clientkey.pem',
};

type Route = HostRoute | { readonly tls: TlsPlace };

/**
 * By the socket of their libvirt daemon, which elsewhere is reached through SSH, or by TLS if there is a directory of certificates.
 */
export const remoteRoutes = (
  hosts: RemoteHosts,
  socket: string,
  certificates: string | undefined,
): HypervisorRoutes => ({
  async find(host): Promise<Route> {
    const route = await hosts.find(host, user);
    if (certificates === undefined || route === null || 'sentences' in route) return route;
    return { tls: { name: host, address: route.address } };
  },
  placeOf(route) {
    const known = route as Route;
    if (known === null) return 'here';
    if ('tls' in known) return known.tls.address;
    const { address, port, jump } = unlessFault(known);
    return [address, port, ...(jump === undefined ? [] : ['behind', jump.address])].join(' ');
  },
  async open(route, signal) {
    const known = route as Route;
    if (known === null) return openSocket(socket);
    if ('tls' in known) return openTls(known.tls, await credentialsIn(certificates!), signal);
    return hosts.socket(known, socket, signal);
  },
});

/** Read each time, so that new ones count. */
async function credentialsIn(directory: string): Promise<TlsCredentials> {
  const read = async (kind: keyof TlsCredentials): Promise<string> => {
    const file = join(directory, files[kind]);
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      const why = `${file}, from the setting hardware.libvirtCertificates, cannot be read: ${(error as Error).message}.`;
      throw new Fault('unavailable', why, { cause: error });
    }
  };
  const [ca, cert, key] = await Promise.all([read('ca'), read('cert'), read('key')]);
  return { ca, cert, key };
}
