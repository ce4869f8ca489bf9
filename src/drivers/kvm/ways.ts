import type { Duplex } from 'node:stream';
import { openSocket } from '../../protocols/libvirt/socket.ts';

export const defaultSocket = '/run/libvirt/libvirt-sock';

/** How hypervisors are reached. A way is plain data. */
export interface HypervisorWays {
  /** Found where the database is; a Fault says why there is none. */
  find(host: string): Promise<unknown>;
  /** Where it leads, by what muster knows. What a hypervisor says of itself, such as its UUID, any other can say too. */
  placeOf(way: unknown): string;
  /** A stream to the libvirt daemon there. */
  open(way: unknown, signal: AbortSignal): Promise<Duplex>;
}

/** Every hypervisor is this machine. */
export const onlyHere = (socket = defaultSocket): HypervisorWays => ({
  find: async () => null,
  placeOf: () => socket,
  open: () => openSocket(socket),
});
