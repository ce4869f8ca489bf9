import { Fault } from '../../core/errors.ts';
import {
  actOnDomain,
  type Domain,
  domainState,
  domainStates,
  domainXml,
  findDomain,
  undefineDomain,
} from '../../protocols/libvirt/calls/domains.ts';
import { deleteSnapshot, listSnapshots, type Snapshot } from '../../protocols/libvirt/calls/snapshots.ts';
import { deleteVolume } from '../../protocols/libvirt/calls/storage.ts';
import { type Element, elementAt, readXml } from '../../protocols/libvirt/xml.ts';
import type { MachineRemoval, MachineRequest, MadeMachine, VirtualMachine } from '../capabilities.ts';
import { volumesOf } from './change-steps.ts';
import { changeMachine } from './change.ts';
import { removeLeft } from './left-disks.ts';
import { cloneMachine, makeMaster } from './masters.ts';
import { madeHere } from './definition.ts';
import { groupOf } from './device-paths.ts';
import { basesMadeFor } from './bases.ts';
import type { Claim } from './disk-claims.ts';
import { refuseUsed } from './disk-users.ts';
import { copyTimeout, prepareDisks } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { hypervisorOf, type KvmAccess, type Machine } from './machine.ts';
import { isNamedFor, type MachineDisk, machineDisks } from './machine-disks.ts';
import { diskSize, machineSettings } from './machine-settings.ts';
import { migrateMachine } from './migrate.ts';
import { type DiskMaker, makeMachine } from './new-machine.ts';
import { unmarkAll } from './partial-disks.ts';
import { diskTimeout } from './pools.ts';
import { refuseSaved } from './saved-memory.ts';
import { snapshotDisks } from './snapshot-disks.ts';

function create(machine: Machine, request: MachineRequest, signal: AbortSignal): Promise<MadeMachine> {
  const { node, attributes } = machine.access;
  const settings = machineSettings(attributes, request);
  const sizes = request.disks.map(diskSize);
  const disks: DiskMaker = (hypervisor, undo, claim) =>
    prepareDisks(hypervisor, { node, settings, sizes, ...request, claim }, undo, signal);
  return makeMachine(machine, { ...request, settings, disks }, signal);
}

async function remove(machine: Machine, request: MachineRemoval, signal: AbortSignal): Promise<void> {
  const hypervisor = await hypervisorOf(machine, signal);
  const { node } = machine.access;
  return hypervisor.alone(node, signal, (claim) => removeFrom(machine, hypervisor, request, claim, signal));
}

async function removeFrom(
  { access: { node, attributes } }: Machine,
  hypervisor: Hypervisor,
  { purge, force, masters, uuid, removing }: MachineRemoval,
  claim: Claim,
  signal: AbortSignal,
): Promise<void> {
  const { connection } = hypervisor;
  const domain = await hypervisor.find(node, signal);
  if (!domain && purge) return removeLeft(hypervisor, node, { attributes, force, masters, claim, removing }, signal);
  if (!domain) return hypervisor.lacks(node);
  const xml = readXml(await domainXml(connection, domain, 'next start', { signal }));
  const isOurs = elementAt(xml, 'metadata', madeHere) !== undefined;
  if (!force && !isOurs) {
    throw new Fault('invalid', 'its virtual machine was not made by muster; use force to remove it anyway.');
  }
  const isItsOwn = domain.uuid === uuid;
  if (!force && !isItsOwn) throw isOfAnother(domain, uuid, hypervisor);
  const { state } = await domainState(connection, domain, { signal });
  if (!force && state !== domainStates.off) {
    throw new Fault('invalid', 'it is on; switch it off first, or remove it with force.');
  }
  if (!force) await refuseSaved(hypervisor, domain, signal);
  const snapshots = purge ? [] : await listSnapshots(connection, domain, { signal });
  if (snapshots.length > 0 && !force) throw hasSnapshots(node, snapshots);
  for (const snapshot of snapshots) await refuseExternal(hypervisor, snapshot, signal);
  const own = purge ? disksToDelete(node, xml, force) : [];
  const disks = [...own, ...(await basesMadeFor(hypervisor, node, own, signal))];
  const paths = disks.map(({ path }) => path);
  await refuseUsed(hypervisor, { paths, owner: domain, force, masters, claim }, signal);
  const volumes = await volumesOf(hypervisor, disks, signal);
  if (!isOurs || !isItsOwn) removing?.(`the virtual machine ${node} (${domain.uuid}) on ${connection.where}`);
  for (const { path } of disks.filter((disk) => !isNamedFor(node, disk.path))) {
    removing?.(`the disk ${path} on ${connection.where}`);
  }
  if (state !== domainStates.off) await actOnDomain(connection, 'destroy', domain, { signal });
  for (const snapshot of snapshots) await deleteSnapshot(connection, snapshot, { signal, timeout: copyTimeout });
  // It had them whole, though muster may have died before it noted that.
  if (isOurs) await unmarkAll(hypervisor, machineDisks(xml), signal);
  // One that was never defined is gone as soon as it is off.
  const still = await findDomain(connection, { uuid: domain.uuid }, { signal });
  // Whoever keeps the disks makes the machine again from them, and it is to boot as before.
  if (still) await undefineDomain(connection, still, { signal, keepsVariables: !purge });
  hypervisor.known.delete(node);
  for (const volume of volumes) await deleteVolume(connection, volume, { signal, timeout: diskTimeout });
}

/** A node that was removed or renamed may have left its machine behind, and another node got the name. */
const isOfAnother = ({ name, uuid }: Domain, known: string | undefined, { host }: Hypervisor): Fault =>
  new Fault('invalid', [
    `the virtual machine ${name} on ${host} has the UUID ${uuid}, but table vpd has ${known ?? 'none'} for this node: muster may have made the machine for another node.`,
    'Use force to remove it anyway.',
  ]);

/** Without the machine nobody would know of them, and a later machine would take them for its own. */
const hasSnapshots = (node: string, snapshots: readonly Snapshot[]): Fault =>
  new Fault('invalid', [
    `it has snapshots (${snapshots.map(({ name }) => name).join(', ')}), which cannot be used without it.`,
    `Delete them first with DELETE /nodes/${node}/snapshots, or use force to delete them with it.`,
  ]);

/** What virsh makes with --disk-only is in files of its own, which libvirt does not delete: the disks depend on them. */
async function refuseExternal(
  { connection, host }: Hypervisor,
  snapshot: Snapshot,
  signal: AbortSignal,
): Promise<void> {
  const { isExternal } = await snapshotDisks(connection, snapshot, signal);
  if (!isExternal) return;
  throw new Fault('invalid', [
    `its snapshot ${snapshot.name} is in files of its own, which muster does not delete.`,
    `Remove it on ${host} with "virsh snapshot-delete ${snapshot.domain.name} ${snapshot.name} --metadata"; its disks stay as they are.`,
  ]);
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
