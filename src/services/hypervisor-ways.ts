import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { Fault, type FaultData, unlessFault } from '../core/errors.ts';
import { parseIp } from '../core/ip.ts';
import type { Store } from '../database/store.ts';
import { managementNode } from '../objects/management-node.ts';
import { openSocket } from '../protocols/libvirt/socket.ts';
import { openTls, type TlsCredentials, type TlsPlace } from '../protocols/libvirt/tls.ts';
import type { Remote } from './remote/remote.ts';
import type { RemoteNodes } from './remote/remote-nodes.ts';
import type { RemoteTarget } from './remote/targets.ts';

/** Null: this machine is the hypervisor. */
export type HypervisorWay = RemoteTarget | { readonly tls: TlsPlace } | FaultData | null;

export interface HypervisorServices {
  readonly store: Pick<Store, 'current'>;
  readonly remote: Pick<Remote, 'targets'>;
  readonly nodes: Pick<RemoteNodes, 'socket'>;
  /** The path of libvirt's socket, here and on other hypervisors. */
  readonly socket: string;
  /** The directory of our certificates; without it SSH is the way. */
  readonly certificates: string | undefined;
}

/** Who talks to libvirt's daemon has to be this user. */
const user = 'root';

/** The names that libvirt itself gives these files. */
const files: Readonly<Record<keyof TlsCredentials, string>> = {
  ca: 'cacert.pem',
  cert: 'clientcert.pem',
  key: 'clientkey.pem',
};

/** To hypervisors: by the socket of their libvirt daemon, which elsewhere is reached through SSH, or by TLS. */
export class HypervisorLinks {
  readonly #services: HypervisorServices;

  constructor(services: HypervisorServices) {
    this.#services = services;
  }

  async find(host: string): Promise<HypervisorWay> {
    const { store, remote, certificates } = this.#services;
    const here = managementNode(store.current);
    const ip = parseIp(host);
    if (ip ? here.hasAddress(ip) : here.hasName(host)) return null;
    const target = await remote.targets(store.current, user)(host);
    return certificates === undefined || 'sentences' in target
      ? target
      : { tls: { name: host, address: target.address } };
  }

  placeOf(way: unknown): string {
    const known = way as HypervisorWay;
    if (known === null) return 'here';
    if ('tls' in known) return known.tls.address;
    const { address, port, jump } = unlessFault(known);
    return [address, port, ...(jump === undefined ? [] : ['behind', jump.address])].join(' ');
  }

  async open(way: unknown, signal: AbortSignal): Promise<Duplex> {
    const { nodes, socket } = this.#services;
    const known = way as HypervisorWay;
    if (known === null) return openSocket(socket);
    if (!('tls' in known)) return nodes.socket(known, socket, signal);
    return openTls(known.tls, await this.#credentials(), signal);
  }

  /** Read each time, so that new ones count. */
  async #credentials(): Promise<TlsCredentials> {
    const read = async (kind: keyof TlsCredentials): Promise<string> => {
      const file = join(this.#services.certificates!, files[kind]);
      try {
        return await readFile(file, 'utf8');
      } catch (error) {
        const why = `${file}, which hardware.libvirtCertificates leads to, cannot be read: ${(error as Error).message}.`;
        throw new Fault('unavailable', why, { cause: error });
      }
    };
    const [ca, cert, key] = await Promise.all([read('ca'), read('cert'), read('key')]);
    return { ca, cert, key };
  }
}
