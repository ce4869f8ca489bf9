import { randomBytes, randomUUID } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { defineDomain, domainXml, findDomain, undefineDomain } from '../../protocols/libvirt/calls/domains.ts';
import { elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { MadeMachine } from '../capabilities.ts';
import { definitionOf, type Disk, madeHere } from './definition.ts';
import type { Hypervisor } from './hypervisor.ts';
import { hypervisorOf, type Machine, type Undo, undone } from './machine.ts';
import type { MachineSettings } from './machine-settings.ts';

/** Finds or makes the disks of a machine; `undo` gets each before it is there. */
export type DiskMaker = (hypervisor: Hypervisor, undo: Undo[]) => Promise<readonly Disk[]>;

export interface NewMachine {
  /** Undefined: a new one. */
  readonly uuid: string | undefined;
  readonly settings: MachineSettings;
  readonly disks: DiskMaker;
}

const uuidShape = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Of those that nobody was given; one of 2^40. */
const newMac = (): string => ['42', ...randomBytes(5).toString('hex').match(/../g)!].join(':');

/** Makes disks, and last of all the definition that has them. */
export async function makeMachine(
  machine: Machine,
  { uuid: known, settings, disks }: NewMachine,
  signal: AbortSignal,
): Promise<MadeMachine> {
  const { node } = machine.access;
  const uuid = known ?? randomUUID();
  if (!uuidShape.test(uuid)) throw new Fault('invalid', `its UUID in table vpd, "${uuid}", is not a UUID.`);
  const hypervisor = await hypervisorOf(machine, signal);
  const { connection, host } = hypervisor;
  const macs = settings.nics.map((_, index) => settings.macs[index] ?? newMac());
  return hypervisor.machines.take(node, signal, async () => {
    await refuseTaken(hypervisor, node, known, signal);
    const undo: Undo[] = [];
    try {
      const made = await disks(hypervisor, undo);
      const xml = writeXml(definitionOf({ name: node, uuid, macs }, settings, made, machine.accelerator));
      undo.push(forgetMachine(uuid));
      await defineDomain(connection, xml, { signal });
    } catch (error) {
      throw await undone(error, undo, machine, `What was made for it on ${host} could not all be removed again:`);
    }
    return { uuid, ...(macs.length > settings.macs.length ? { mac: macs.join('|') } : {}) };
  });
}

/** Of a machine that is new. */
const forgetMachine =
  (uuid: string): Undo =>
  async ({ connection }, signal) => {
    const made = await findDomain(connection, { uuid }, { signal });
    if (made) await undefineDomain(connection, made, { signal });
  };

export async function refuseTaken(
  hypervisor: Hypervisor,
  node: string,
  uuid: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { connection, host } = hypervisor;
  // Events report that a machine is gone after the answers do.
  const taken = await findDomain(connection, { name: node }, { signal });
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
