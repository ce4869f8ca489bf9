import { randomBytes, randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import {
  actOnDomain,
  defineDomain,
  domainState,
  domainXml,
  findDomain,
  undefineDomain,
} from '../../protocols/libvirt/calls/domains.ts';
import { deleteVolume } from '../../protocols/libvirt/calls/storage.ts';
import { domainStates } from '../../protocols/libvirt/domain.ts';
import { type Element, elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { MachineRequest, MadeMachine, VirtualMachine } from '../capabilities.ts';
import { changeMachine } from './change.ts';
import { definitionOf, madeHere } from './definition.ts';
import { volumesOf } from './change-stopped.ts';
import { diskTimeout, groupOf, prepareDisks } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { hypervisorOf, type Machine } from './machine.ts';
import { type MachineDisk, machineDisks, refuseInUse } from './machine-disks.ts';
import { machineSettings } from './machine-settings.ts';
import { diskSize } from './sizes.ts';
import { type Undo, undone } from './undo.ts';

const uuidShape = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Of those that nobody was given; one of 2^40. */
const newMac = (): string => ['42', ...randomBytes(5).toString('hex').match(/../g)!].join(':');

async function create(machine: Machine, request: MachineRequest, signal: AbortSignal): Promise<MadeMachine> {
  const { node, attributes } = machine.access;
  const settings = machineSettings(attributes, request);
  const sizes = request.disks.map(diskSize);
  const uuid = request.uuid ?? randomUUID();
  if (!uuidShape.test(uuid)) throw new Fault('invalid', `its UUID in table vpd, "${uuid}", is none.`);
  const hypervisor = await hypervisorOf(machine, signal);
  const { connection, host } = hypervisor;
  await refuseTaken(hypervisor, node, request.uuid, signal);
  const macs = settings.nics.map((_, index) => settings.macs[index] ?? newMac());
  const undo: Undo[] = [];
  try {
    const disks = await prepareDisks(hypervisor, { node, settings, sizes, ...request }, undo, signal);
    const xml = writeXml(definitionOf({ name: node, uuid, macs }, settings, disks, machine.accelerator));
    undo.push(forgetMachine(uuid));
    await defineDomain(connection, xml, { signal });
  } catch (error) {
    throw await undone(error, undo, machine, `What was made for it on ${host} could not all be removed again:`);
  }
  return { uuid, ...(macs.length > settings.macs.length ? { mac: macs.join('|') } : {}) };
}

/** Of a machine that is new. */
export const forgetMachine =
  (uuid: string): Undo =>
  async ({ connection }, signal) => {
    const made = await findDomain(connection, { uuid }, { signal });
    if (made) await undefineDomain(connection, made, { signal });
  };

async function refuseTaken(
  hypervisor: Hypervisor,
  node: string,
  uuid: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { connection, host } = hypervisor;
  const taken = await hypervisor.find(node, signal);
  if (taken) {
    const xml = readXml(await domainXml(connection, taken, 'next start', { signal }));
    throw new Fault(
      'invalid',
      elementAt(xml, 'metadata', madeHere)
        ? `there is a virtual machine ${node} on ${host} already; DELETE vm removes it.`
        : `there is a virtual machine ${node} on ${host} that muster has not made; DELETE vm removes it with force.`,
    );
  }
  const same = uuid === undefined ? undefined : await findDomain(connection, { uuid }, { signal });
  if (same) throw new Fault('invalid', `its UUID is that of the virtual machine ${same.name} on ${host}.`);
}

async function remove(
  machine: Machine,
  { purge, force, removing }: Parameters<VirtualMachine['remove']>[0],
  signal: AbortSignal,
): Promise<void> {
  const { node } = machine.access;
  const hypervisor = await hypervisorOf(machine, signal);
  const { connection } = hypervisor;
  const domain = await hypervisor.machine(node, signal);
  const xml = readXml(await domainXml(connection, domain, 'next start', { signal }));
  const isOurs = elementAt(xml, 'metadata', madeHere) !== undefined;
  if (!force && !isOurs) {
    throw new Fault('invalid', 'its virtual machine was not made by muster; with force it is removed all the same.');
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
  for (const { path } of disks.filter((disk) => !isNamedFor(node, disk))) {
    removing?.(`the disk ${path} on ${connection.where}`);
  }
  if (state !== domainStates.off) await actOnDomain(connection, 'destroy', domain, { signal });
  await undefineDomain(connection, domain, { signal });
  for (const volume of volumes) await deleteVolume(connection, volume, { signal, timeout: diskTimeout });
}

/** Its files, and volumes of LVM that have its name. One of another name is not of our making; other devices stay as they are. */
function disksToDelete(node: string, xml: Element, force: boolean): readonly MachineDisk[] {
  const disks = machineDisks(xml).filter(
    (disk) => disk.kind === 'file' || (groupOf(disk.path) !== undefined && isNamedFor(node, disk)),
  );
  const foreign = disks.filter((disk) => !isNamedFor(node, disk)).map(({ path }) => path);
  if (foreign.length > 0 && !force) {
    throw new Fault(
      'invalid',
      `its disk ${foreign.join(', ')} was not made for it; with force it is deleted all the same.`,
    );
  }
  return disks;
}

const isNamedFor = (node: string, { path }: MachineDisk): boolean => posix.basename(path).startsWith(`${node}.`);

export const kvmVirtualMachine = (machine: Machine): VirtualMachine => ({
  change: (request, signal) => changeMachine(machine, request, signal),
  create: (request, signal) => create(machine, request, signal),
  remove: (request, signal) => remove(machine, request, signal),
});
