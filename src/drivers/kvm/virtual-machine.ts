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
import { deleteVolume, type Volume } from '../../protocols/libvirt/calls/storage.ts';
import { domainStates } from '../../protocols/libvirt/domain.ts';
import { childElements, type Element, elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { MachineRequest, MadeMachine, VirtualMachine } from '../capabilities.ts';
import { changeMachine } from './change.ts';
import { definitionOf, madeHere } from './definition.ts';
import { diskTimeout, prepareDisks, volumeAt } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { hypervisorOf, type Machine } from './machine.ts';
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
    const disks = await prepareDisks(hypervisor, { node, settings, sizes, force: request.force }, undo, signal);
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
  if (await hypervisor.find(node, signal)) {
    throw new Fault('invalid', `there is a virtual machine ${node} on ${host} already; DELETE vm removes it.`);
  }
  const same = uuid === undefined ? undefined : await findDomain(connection, { uuid }, { signal });
  if (same) throw new Fault('invalid', `its UUID is that of the virtual machine ${same.name} on ${host}.`);
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
  change: (request, signal) => changeMachine(machine, request, signal),
  create: (request, signal) => create(machine, request, signal),
  remove: (request, signal) => remove(machine, request, signal),
});
