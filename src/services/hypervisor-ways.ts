import type { Duplex } from 'node:stream';
import type { FaultData } from '../core/errors.ts';
import { parseIp } from '../core/ip.ts';
import type { Store } from '../database/store.ts';
import { managementNode } from '../objects/management-node.ts';
import { openSocket } from '../protocols/libvirt/socket.ts';
import type { Remote } from './remote/remote.ts';
import type { RemoteNodes } from './remote/remote-nodes.ts';
import type { RemoteTarget } from './remote/targets.ts';

/** Null: this machine is the hypervisor. */
export type HypervisorWay = RemoteTarget | FaultData | null;

export interface HypervisorServices {
  readonly store: Pick<Store, 'current'>;
  readonly remote: Pick<Remote, 'targets'>;
  readonly nodes: Pick<RemoteNodes, 'socket'>;
  /** The path of libvirt's socket, here and on other hypervisors. */
  readonly socket: string;
}

/** Who talks to libvirt's daemon has to be this user. */
const user = 'root';

/** To hypervisors: by the socket of their libvirt daemon, which elsewhere is reached through SSH. */
export class HypervisorLinks {
  readonly #services: HypervisorServices;

  constructor(services: HypervisorServices) {
    this.#services = services;
  }

  async find(host: string): Promise<HypervisorWay> {
    const { store, remote } = this.#services;
    const here = managementNode(store.current);
    const ip = parseIp(host);
    return (ip ? here.hasAddress(ip) : here.hasName(host)) ? null : remote.targets(store.current, user)(host);
  }

  open(way: unknown, signal: AbortSignal): Promise<Duplex> {
    const { nodes, socket } = this.#services;
    const known = way as HypervisorWay;
    return known === null ? openSocket(socket) : nodes.socket(known, socket, signal);
  }
}
