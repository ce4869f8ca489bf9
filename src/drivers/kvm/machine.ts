import { Fault } from '../../core/errors.ts';
import { pause, within } from '../../core/waiting.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import type { Domain } from '../../protocols/libvirt/calls/domains.ts';
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
  throw noHypervisor();
}

export const noHypervisor = (): Fault =>
  new Fault('invalid', 'its attribute vmhost, the hypervisor it is on, is not set.');

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

/**
 * Takes back what was done, whether or not it was done at all; what cannot be taken back is a Fault that says so. The hypervisor may be
 * connected to again since.
 */
export type Undo = (hypervisor: Hypervisor, signal: AbortSignal) => Promise<void>;

/** Milliseconds for each step back. */
const undoTimeout = 60_000;
const retryPause = 250;

/** Takes back what was done, the last first; what stays is reported with the failure, after `words`. */
export async function undone(
  error: unknown,
  undo: readonly Undo[],
  machine: Pick<Machine, 'access' | 'hypervisors'>,
  words: string,
): Promise<unknown> {
  const left: string[] = [];
  for (const step of undo.toReversed()) {
    try {
      await persist(machine, step);
    } catch (problem) {
      left.push((problem as Error).message);
    }
  }
  if (left.length === 0 || !(error instanceof Fault)) return error;
  return new Fault(error.kind, [...error.sentences, `${words} ${left.join(' ')}`], { cause: error });
}

/** A daemon that is away is waited for: what was to be done may have failed because it died. */
export function persist<T>(
  machine: Pick<Machine, 'access' | 'hypervisors'>,
  step: (hypervisor: Hypervisor, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  let last: Error | undefined;
  const late = (): Fault => new Fault('deadline', last?.message ?? `it took longer than ${undoTimeout / 1_000} s.`);
  return within(undoTimeout, late, new AbortController().signal, async (signal) => {
    for (;;) {
      try {
        const hypervisor = await opened(hypervisorOf(machine, signal));
        return await step(hypervisor, signal);
      } catch (error) {
        if (!isLost(error) && !(error instanceof NotYet)) throw error;
        last = error as Error;
        await pause(retryPause, signal);
      }
    }
  });
}

class NotYet extends Fault {}

/** Whatever keeps a hypervisor from being opened may be over in a moment: through SSH nobody can know. */
async function opened(opening: Promise<Hypervisor>): Promise<Hypervisor> {
  try {
    return await opening;
  } catch (error) {
    if (error instanceof Fault) throw new NotYet(error.kind, error.sentences, { cause: error });
    throw error;
  }
}
