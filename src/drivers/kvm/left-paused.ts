import type { HypervisorListener } from '../../core/hypervisor-listener.ts';
import { type Domain, domainStates, pauseReasons, resumeDomain } from '../../protocols/libvirt/calls/domains.ts';
import { isRefusal } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import type { Parameters } from '../../protocols/libvirt/wire.ts';
import type { Hypervisor } from './hypervisor.ts';

const reasons: readonly number[] = Object.values(pauseReasons);

/**
 * Libvirt pauses a machine while it writes its memory, and lets it go on afterwards. A daemon that died meanwhile does not, and no machine
 * that somebody has paused has such a reason.
 */
export const isLeftPaused = (statistics: Parameters): boolean =>
  Number(statistics.get('state.state')) === domainStates.paused &&
  reasons.includes(Number(statistics.get('state.reason')));

/** Lets a machine go on, if it does not already. */
export async function goOn(
  { connection }: Pick<Hypervisor, 'connection'>,
  domain: Domain,
  signal: AbortSignal,
): Promise<void> {
  try {
    await resumeDomain(connection, domain, { signal });
  } catch (error) {
    if (!isRefusal(error, errorCodes.operationInvalid)) throw error;
  }
}

/** Lets machines of nodes go on that a snapshot has paused which nobody ends any more. Libvirt waits until one that is under way has ended. */
export async function resumeLeft(
  { connection }: Hypervisor,
  paused: readonly Domain[],
  listener: Pick<HypervisorListener, 'owns' | 'tookBack'>,
  signal: AbortSignal,
): Promise<void> {
  for (const domain of paused.filter(({ name }) => listener.owns(name))) {
    try {
      await resumeDomain(connection, domain, { signal });
      listener.tookBack(domain.name, 'was paused by a snapshot that did not end. muster resumed it.');
    } catch (error) {
      // It is gone, or runs by now; or the work that has paused it goes on and resumes it.
      if (!isRefusal(error, errorCodes.noDomain, errorCodes.operationInvalid, errorCodes.operationTimeout)) throw error;
    }
  }
}
