import { Fault } from '../../core/errors.ts';
import { type Domain, domainXml } from '../../protocols/libvirt/calls/domains.ts';
import {
  createSnapshot,
  deleteSnapshot,
  findSnapshot,
  listSnapshots,
  revertToSnapshot,
  type Snapshot,
  snapshotXml,
} from '../../protocols/libvirt/calls/snapshots.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { type Element, element, elementAt, readXml, textOf, writeXml } from '../../protocols/libvirt/xml.ts';
import type { SnapshotInfo, Snapshots } from '../capabilities.ts';
import { copyTimeout } from './disks.ts';
import { hypervisorOf, type Machine, readMachine, undone } from './machine.ts';
import { machineDisks } from './machine-disks.ts';

/** It becomes the name of a file. */
const nameShape = /^[A-Za-z0-9][\w.-]{0,62}$/;
const longestDescription = 1_000;

/** Libvirt's words for what a machine did. */
const powers: Readonly<Record<string, string>> = { running: 'on', shutoff: 'off' };

const wrongName = (name: string): Fault =>
  new Fault(
    'invalid',
    `"${name.slice(0, 80)}" is not a name for a snapshot: use up to 63 letters and digits, and . _ - after the first.`,
  );

async function named(
  connection: LibvirtConnection,
  domain: Domain,
  name: string,
  signal: AbortSignal,
): Promise<Snapshot> {
  if (!nameShape.test(name)) throw wrongName(name);
  const found = await findSnapshot(connection, domain, name, { signal });
  if (found) return found;
  throw new Fault('invalid', `it has no snapshot ${name}.`);
}

/** Work on a snapshot, alone on its machine. Memory and disks may be large: it takes as long as it takes. */
async function work(
  machine: Machine,
  signal: AbortSignal,
  what: (
    connection: LibvirtConnection,
    domain: Domain,
    options: { signal: AbortSignal; timeout: number },
  ) => Promise<void>,
): Promise<void> {
  const { node } = machine.access;
  const hypervisor = await hypervisorOf(machine, signal);
  await hypervisor.machines.take(node, signal, async () =>
    what(hypervisor.connection, await hypervisor.machine(node, signal), { signal, timeout: copyTimeout }),
  );
}

function infoOf(xml: Element): SnapshotInfo {
  const seconds = Number(textOf(elementAt(xml, 'creationTime')) ?? 0);
  const state = textOf(elementAt(xml, 'state')) ?? '';
  return {
    created: new Date(seconds * 1_000).toISOString(),
    power: powers[state] ?? state,
    parent: textOf(elementAt(xml, 'parent', 'name')),
    description: textOf(elementAt(xml, 'description')),
  };
}

const list = (machine: Machine, signal: AbortSignal): Promise<readonly string[]> =>
  readMachine(machine, signal, async (connection, domain) => {
    const all = await listSnapshots(connection, domain, { signal });
    const dated: { name: string; created: string }[] = [];
    for (const snapshot of all) {
      const { created } = infoOf(readXml(await snapshotXml(connection, snapshot, { signal })));
      dated.push({ name: snapshot.name, created });
    }
    return dated.toSorted((a, b) => a.created.localeCompare(b.created)).map(({ name }) => name);
  });

async function create(
  machine: Machine,
  name: string,
  description: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (!nameShape.test(name)) throw wrongName(name);
  if (description !== undefined && description.length > longestDescription) {
    throw new Fault('invalid', `the description of a snapshot has at most ${longestDescription} characters.`);
  }
  await work(machine, signal, async (connection, domain, options) => {
    if (await findSnapshot(connection, domain, name, { signal })) {
      throw new Fault('invalid', `it already has a snapshot ${name}; give another name.`);
    }
    const disks = machineDisks(readXml(await domainXml(connection, domain, 'now', { signal })));
    const unfit = disks.find(({ format }) => format !== 'qcow2');
    if (unfit) {
      throw new Fault('invalid', `its disk ${unfit.device} is ${unfit.format}, and only qcow2 can hold snapshots.`);
    }
    const xml = element(
      'domainsnapshot',
      {},
      element('name', {}, name),
      description === undefined ? undefined : element('description', {}, description),
    );
    try {
      await createSnapshot(connection, domain, writeXml(xml), options);
    } catch (error) {
      const remove = async (at: { readonly connection: LibvirtConnection }, later: AbortSignal): Promise<void> => {
        const made = await findSnapshot(at.connection, domain, name, { signal: later });
        if (made) await deleteSnapshot(at.connection, made, { signal: later, timeout: copyTimeout });
      };
      throw await undone(error, [remove], machine, 'Some of the snapshot could not be removed:');
    }
  });
}

export const kvmSnapshots = (machine: Machine): Snapshots => ({
  list: (signal) => list(machine, signal),
  show: (name, signal) =>
    readMachine(machine, signal, async (connection, domain) =>
      infoOf(readXml(await snapshotXml(connection, await named(connection, domain, name, signal), { signal }))),
    ),
  create: (name, description, signal) => create(machine, name, description, signal),
  revert: (name, signal) =>
    work(machine, signal, async (connection, domain, options) =>
      revertToSnapshot(connection, await named(connection, domain, name, signal), options),
    ),
  remove: (name, signal) =>
    work(machine, signal, async (connection, domain, options) =>
      deleteSnapshot(connection, await named(connection, domain, name, signal), options),
    ),
});
