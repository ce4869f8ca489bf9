import { randomBytes, randomUUID } from 'node:crypto';
import { Fault } from '../../core/errors.ts';
import { defineDomain, domainXml, findDomain, undefineDomain } from '../../protocols/libvirt/calls/domains.ts';
import { hostMemory } from '../../protocols/libvirt/calls/host.ts';
import { elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { MachineRequest, MadeMachine } from '../capabilities.ts';
import { definitionOf, type Disk, madeHere } from './definition.ts';
import type { Claim } from './disk-claims.ts';
import type { Hypervisor } from './hypervisor.ts';
import { hypervisorOf, type Machine, type Undo, undone } from './machine.ts';
import { inMegabytes, type MachineSettings } from './machine-settings.ts';
import { unmarkAll } from './partial-disks.ts';

/** Finds or makes the disks of a machine; `undo` gets each before it is there. */
export type DiskMaker = (hypervisor: Hypervisor, undo: Undo[], claim: Claim) => Promise<readonly Disk[]>;

export interface NewMachine extends Pick<MachineRequest, 'uuid' | 'lastHost' | 'force'> {
  readonly settings: MachineSettings;
  readonly disks: DiskMaker;
}

const uuidShape = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** Of those that nobody was given; one of 2^40. */
const newMac = (): string => ['42', ...randomBytes(5).toString('hex').match(/../g)!].join(':');

/** Makes disks, and last of all the definition that has them. */
export async function makeMachine(
  machine: Machine,
  { uuid: known, lastHost, force, settings, disks }: NewMachine,
  signal: AbortSignal,
): Promise<MadeMachine> {
  const { node } = machine.access;
  const uuid = known ?? randomUUID();
  if (!uuidShape.test(uuid)) throw new Fault('invalid', `its UUID in table vpd, "${uuid}", is not a UUID.`);
  const hypervisor = await hypervisorOf(machine, signal);
  const { connection, host } = hypervisor;
  const macs = settings.nics.map((_, index) => settings.macs[index] ?? newMac());
  return hypervisor.alone(node, signal, async (claim) => {
    await refuseTaken(hypervisor, node, known, signal);
    if (known !== undefined) await refuseElsewhere(node, hypervisor, { uuid: known, lastHost, force }, signal);
    await refuseMemory(hypervisor, settings.memory, signal);
    const undo: Undo[] = [];
    try {
      const made = await disks(hypervisor, undo, claim);
      await unmarkAll(hypervisor, made, signal);
      const xml = writeXml(definitionOf({ name: node, uuid, macs }, settings, made, machine.accelerator));
      undo.push(forgetMachine(uuid));
      await defineDomain(connection, xml, { signal });
    } catch (error) {
      throw await undone(error, undo, machine, `What was made for it on ${host} could not all be removed again:`);
    }
    return { uuid, ...(macs.length > settings.macs.length ? { mac: macs.join('|') } : {}) };
  });
}

export async function refuseMemory(
  { connection, host }: Hypervisor,
  wanted: bigint,
  signal: AbortSignal,
): Promise<void> {
  const memory = await hostMemory(connection, { signal });
  if (wanted > memory)
    throw new Fault('invalid', `it cannot have ${inMegabytes(wanted)} of memory: ${host} has ${inMegabytes(memory)}.`);
}

/** Of a machine that is new. */
const forgetMachine =
  (uuid: string): Undo =>
  async ({ connection }, signal) => {
    const made = await findDomain(connection, { uuid }, { signal });
    // An earlier machine of the node may have left them.
    if (made) await undefineDomain(connection, made, { signal, keepsVariables: true });
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
        ? `there is a virtual machine ${node} on ${host} already; DELETE /nodes/${node}/vm removes it.`
        : `there is a virtual machine ${node} on ${host} that muster has not made; DELETE /nodes/${node}/vm with force removes it.`,
    );
  }
  const same = uuid === undefined ? undefined : await findDomain(connection, { uuid }, { signal });
  if (same) throw new Fault('invalid', `its UUID is that of the virtual machine ${same.name} on ${host}.`);
}

/** A machine that is on another hypervisor would be there twice, with the same disks if the storage is the same. */
async function refuseElsewhere(
  node: string,
  hypervisor: Hypervisor,
  { uuid, lastHost, force }: { readonly uuid: string; readonly lastHost: string | undefined; readonly force: boolean },
  signal: AbortSignal,
): Promise<void> {
  const { reached, silent } = await hypervisor.others(signal, lastHost);
  for (const other of reached) {
    const found = await findDomain(other.connection, { uuid }, { signal });
    if (found)
      throw new Fault('invalid', [
        `its virtual machine is on ${other.host}, by its UUID under the name ${found.name}.`,
        `To move it, set vmhost to ${other.host} and use POST /nodes/${node}/vmmigrate {"target":"${hypervisor.host}"}. To make another one, remove it there first.`,
      ]);
  }
  const doubtful = silent.find(({ host, uuids }) => host === lastHost || uuids.has(uuid));
  if (doubtful && !force)
    throw new Fault('invalid', [
      `its virtual machine was last seen on ${doubtful.host}, which does not answer: ${doubtful.reason.message}`,
      `It may run there. Repeat the command when ${doubtful.host} answers, or use force if you are sure that it does not run.`,
    ]);
}
