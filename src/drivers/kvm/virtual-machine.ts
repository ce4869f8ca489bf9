import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { actOnDomain, domainState, domainXml, undefineDomain } from '../../protocols/libvirt/calls/domains.ts';
import { deleteVolume, type Volume } from '../../protocols/libvirt/calls/storage.ts';
import { domainStates } from '../../protocols/libvirt/domain.ts';
import { childElements, type Element, elementAt, readXml } from '../../protocols/libvirt/xml.ts';
import type { MachineRequest, MadeMachine, VirtualMachine } from '../capabilities.ts';
import { changeMachine } from './change.ts';
import { cloneMachine } from './clone.ts';
import { madeHere } from './definition.ts';
import { diskTimeout, prepareDisks, volumeAt } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { hypervisorOf, type KvmAccess, type Machine } from './machine.ts';
import { machineSettings } from './machine-settings.ts';
import { makeMaster } from './make-master.ts';
import { migrateMachine } from './migrate.ts';
import { type DiskMaker, makeMachine } from './new-machine.ts';
import { diskSize } from './sizes.ts';

function create(machine: Machine, request: MachineRequest, signal: AbortSignal): Promise<MadeMachine> {
  const { node, attributes } = machine.access;
  const settings = machineSettings(attributes, request);
  const sizes = request.disks.map(diskSize);
  const disks: DiskMaker = (hypervisor, undo) =>
    prepareDisks(hypervisor, { node, settings, sizes, force: request.force }, undo, signal);
  return makeMachine(machine, { uuid: request.uuid, settings, disks }, signal);
}

async function remove(
  machine: Machine,
  { purge, force }: Parameters<VirtualMachine['remove']>[0],
  signal: AbortSignal,
): Promise<void> {
  const { node } = machine.access;
  const hypervisor = await hypervisorOf(machine, signal);
  const { connection } = hypervisor;
  const domain = await hypervisor.machine(node, signal);
  const xml = readXml(await domainXml(connection, domain, 'next start', { signal }));
  if (!force && !elementAt(xml, 'metadata', madeHere)) {
    throw new Fault('invalid', 'its virtual machine was not made by muster; with force it is removed all the same.');
  }
  const { state } = await domainState(connection, domain, { signal });
  if (!force && state !== domainStates.off) {
    throw new Fault('invalid', 'it is on; switch it off first, or remove it with force.');
  }
  const volumes = purge ? await disksToDelete(machine, hypervisor, xml, force, signal) : [];
  if (state !== domainStates.off) await actOnDomain(connection, 'destroy', domain, { signal });
  await undefineDomain(connection, domain, { signal });
  for (const volume of volumes) await deleteVolume(connection, volume, { signal, timeout: diskTimeout });
}

/** The files of its disks. One of another name is not of our making, and devices stay as they are. */
async function disksToDelete(
  { access: { node } }: Machine,
  hypervisor: Hypervisor,
  xml: Element,
  force: boolean,
  signal: AbortSignal,
): Promise<readonly Volume[]> {
  const paths = childElements(elementAt(xml, 'devices') ?? xml, 'disk')
    .filter(({ attributes }) => attributes['device'] === 'disk')
    .flatMap((disk) => elementAt(disk, 'source')?.attributes['file'] ?? []);
  const foreign = paths.filter((path) => !posix.basename(path).startsWith(`${node}.`));
  if (foreign.length > 0 && !force) {
    throw new Fault(
      'invalid',
      `its disk ${foreign.join(', ')} was not made for it; with force it is deleted all the same.`,
    );
  }
  const volumes: Volume[] = [];
  for (const path of paths) {
    const volume = await volumeAt(hypervisor, path, signal);
    if (volume) volumes.push(volume);
  }
  return volumes;
}

export const kvmVirtualMachine = (machine: Machine): VirtualMachine => ({
  migrate: (to, tell, signal) => migrateMachine(machine, to as KvmAccess, tell, signal),
  makeMaster: (request, tell, signal) => makeMaster(machine, request, tell, signal),
  clone: (request, tell, signal) => cloneMachine(machine, request, tell, signal),
  change: (request, signal) => changeMachine(machine, request, signal),
  create: (request, signal) => create(machine, request, signal),
  remove: (request, signal) => remove(machine, request, signal),
});
