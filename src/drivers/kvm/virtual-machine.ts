import { Fault } from '../../core/errors.ts';
import {
  actOnDomain,
  domainState,
  domainStates,
  domainXml,
  undefineDomain,
} from '../../protocols/libvirt/calls/domains.ts';
import { deleteVolume } from '../../protocols/libvirt/calls/storage.ts';
import { type Element, elementAt, readXml } from '../../protocols/libvirt/xml.ts';
import type { MachineRemoval, MachineRequest, MadeMachine, VirtualMachine } from '../capabilities.ts';
import { volumesOf } from './change-steps.ts';
import { changeMachine } from './change.ts';
import { cloneMachine, makeMaster } from './masters.ts';
import { madeHere } from './definition.ts';
import { diskTimeout, groupOf, prepareDisks } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { hypervisorOf, type KvmAccess, type Machine } from './machine.ts';
import { isNamedFor, type MachineDisk, machineDisks, refuseInUse } from './machine-disks.ts';
import { diskSize, machineSettings } from './machine-settings.ts';
import { migrateMachine } from './migrate.ts';
import { type DiskMaker, makeMachine } from './new-machine.ts';

function create(machine: Machine, request: MachineRequest, signal: AbortSignal): Promise<MadeMachine> {
  const { node, attributes } = machine.access;
  const settings = machineSettings(attributes, request);
  const sizes = request.disks.map(diskSize);
  const disks: DiskMaker = (hypervisor, undo) =>
    prepareDisks(hypervisor, { node, settings, sizes, ...request }, undo, signal);
  return makeMachine(machine, { uuid: request.uuid, settings, disks }, signal);
}

async function remove(machine: Machine, request: MachineRemoval, signal: AbortSignal): Promise<void> {
  const hypervisor = await hypervisorOf(machine, signal);
  const { node } = machine.access;
  return hypervisor.machines.take(node, signal, () => removeFrom(hypervisor, node, request, signal));
}

async function removeFrom(
  hypervisor: Hypervisor,
  node: string,
  { purge, force, removing }: MachineRemoval,
  signal: AbortSignal,
): Promise<void> {
  const { connection } = hypervisor;
  const domain = await hypervisor.machine(node, signal);
  const xml = readXml(await domainXml(connection, domain, 'next start', { signal }));
  const isOurs = elementAt(xml, 'metadata', madeHere) !== undefined;
  if (!force && !isOurs) {
    throw new Fault('invalid', 'its virtual machine was not made by muster; use force to remove it anyway.');
  }
  const { state } = await domainState(connection, domain, { signal });
  if (!force && state !== domainStates.off) {
    throw new Fault('invalid', 'it is on; switch it off first, or remove it with force.');
  }
  const disks = purge ? disksToDelete(node, xml, force) : [];
  await refuseInUse(
    connection,
    disks.map(({ path }) => path),
    domain,
    signal,
  );
  const volumes = await volumesOf(hypervisor, disks, signal);
  if (!isOurs) removing?.(`the virtual machine ${node} (${domain.uuid}) on ${connection.where}`);
  for (const { path } of disks.filter((disk) => !isNamedFor(node, disk.path))) {
    removing?.(`the disk ${path} on ${connection.where}`);
  }
  if (state !== domainStates.off) await actOnDomain(connection, 'destroy', domain, { signal });
  await undefineDomain(connection, domain, { signal });
  hypervisor.known.delete(node);
  for (const volume of volumes) await deleteVolume(connection, volume, { signal, timeout: diskTimeout });
}

/** Its files, and volumes of LVM that have its name. One of another name is not of our making; other devices stay as they are. */
function disksToDelete(node: string, xml: Element, force: boolean): readonly MachineDisk[] {
  const disks = machineDisks(xml).filter(
    (disk) => disk.kind === 'file' || (groupOf(disk.path) !== undefined && isNamedFor(node, disk.path)),
  );
  const foreign = disks.map(({ path }) => path).filter((path) => !isNamedFor(node, path));
  if (foreign.length > 0 && !force) {
    throw new Fault('invalid', `its disk ${foreign.join(', ')} was not made for it; use force to delete it anyway.`);
  }
  return disks;
}

export const kvmVirtualMachine = (machine: Machine): VirtualMachine => ({
  migrate: (to, tell, signal) => migrateMachine(machine, to as KvmAccess, tell, signal),
  makeMaster: (request, tell, signal) => makeMaster(machine, request, tell, signal),
  clone: (request, tell, signal) => cloneMachine(machine, request, tell, signal),
  change: (request, signal) => changeMachine(machine, request, signal),
  create: (request, signal) => create(machine, request, signal),
  remove: (request, signal) => remove(machine, request, signal),
});
