import { Fault } from '../../core/errors.ts';
import { type Domain, hasSavedMemory } from '../../protocols/libvirt/calls/domains.ts';
import type { Hypervisor } from './hypervisor.ts';

/**
 * Refuses a machine that is off, but whose memory libvirt has saved: at its next start the guest goes on where it was, and needs the disks
 * and the devices that it had.
 */
export async function refuseSaved(
  { connection, host }: Hypervisor,
  domain: Domain,
  signal: AbortSignal,
): Promise<void> {
  if (!(await hasSavedMemory(connection, domain, { signal }))) return;
  const { name } = domain;
  throw new Fault('invalid', [
    `its memory is saved on ${host} ("virsh managedsave"): its guest will go on with it and needs everything as it was.`,
    `Start it with PUT /nodes/${name}/power {"action":"on"} and shut it down, or discard the memory on ${host} with "virsh managedsave-remove ${name}".`,
  ]);
}
