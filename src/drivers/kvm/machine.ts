import { Fault } from '../../core/errors.ts';
import { type LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import type { Domain } from '../../protocols/libvirt/domain.ts';
import { isRefusal, LibvirtFault } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import type { Accelerator } from './definition.ts';
import type { Hypervisor } from './hypervisor.ts';
import type { Hypervisors } from './hypervisors.ts';
import type { MachineAttributes } from './machine-settings.ts';

/** What work on a virtual machine needs. */
export interface KvmAccess {
  readonly node: string;
  /** Undefined: the node is no virtual machine, but it may be a hypervisor. */
  readonly host?: string | undefined;
  readonly attributes: MachineAttributes;
  /** How the hypervisor is reached. */
  readonly route: unknown;
}

export interface Machine {
  readonly access: KvmAccess;
  readonly hypervisors: Hypervisors;
  readonly accelerator: Accelerator;
  /** Milliseconds a power command may take. */
  readonly powerTimeout: number;
}

export function hypervisorOf(
  { access, hypervisors }: Pick<Machine, 'access' | 'hypervisors'>,
  signal: AbortSignal,
): Promise<Hypervisor> {
  const { host, route } = access;
  if (host !== undefined) return hypervisors.at(host, route, signal);
  throw new Fault('invalid', 'its attribute vmhost, the hypervisor it is on, is not set.');
}

/** Works on the machine. One that is gone from where it was known is looked for once more: nothing was done to it. */
export async function onMachine<T>(
  machine: Machine,
  signal: AbortSignal,
  work: (connection: LibvirtConnection, domain: Domain) => Promise<T>,
): Promise<T> {
  const { node } = machine.access;
  const hypervisor = await hypervisorOf(machine, signal);
  try {
    return await work(hypervisor.connection, await hypervisor.machine(node, signal));
  } catch (error) {
    if (!isRefusal(error, errorCodes.noDomain)) throw error;
    hypervisor.known.delete(node);
    return work(hypervisor.connection, await hypervisor.machine(node, signal));
  }
}

/** The same for what changes nothing. */
export const readMachine = <T>(...given: Parameters<typeof onMachine<T>>): Promise<T> =>
  twice(() => onMachine(...given));

/** What changes nothing may be asked again over a new connection if the kept one was dead. */
export async function twice<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isLost(error)) throw error;
    return read();
  }
}

export const isLost = (error: unknown): boolean => error instanceof LibvirtFault && error.failure === 'lost';
