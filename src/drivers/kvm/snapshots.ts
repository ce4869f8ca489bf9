import { Fault } from '../../core/errors.ts';
import { type Domain, domainState, domainStates, domainXml } from '../../protocols/libvirt/calls/domains.ts';
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
import type { Claim } from './disk-claims.ts';
import { refuseUsed } from './disk-users.ts';
import type { Hypervisor } from './hypervisor.ts';
import { goOn } from './left-paused.ts';
import { refuseAmbiguous } from './image-snapshots.ts';
import { hypervisorOf, type Machine, readMachine, undone } from './machine.ts';
import { type MachineDisk, machineDisks } from './machine-disks.ts';
import { refuseSaved } from './saved-memory.ts';
import { refuseIncomplete, type SnapshotDisks, snapshotDisks, snapshotFiles } from './snapshot-disks.ts';

/** It becomes the name of a file. */
const nameShape = /^[A-Za-z0-9][\w.-]{0,62}$/;
/** Snapshots inside images have numbers too, and QEMU takes a number for that. */
const isNumber = /^\d+$/;
const longestDescription = 1_000;

/** Libvirt's words for what a machine did. */
const powers: Readonly<Record<string, string>> = { running: 'on', shutoff: 'off' };

const wrongName = (name: string): Fault =>
  new Fault(
    'invalid',
    `"${name.slice(0, 80)}" is not a name for a snapshot: use up to 63 letters and digits, not only digits, and . _ - after the first.`,
  );

/** Virsh gives snapshots names that muster does not. */
async function named(
  connection: LibvirtConnection,
  domain: Domain,
  name: string,
  signal: AbortSignal,
): Promise<Snapshot> {
  const found = await findSnapshot(connection, domain, name, { signal });
  if (found) return found;
  throw new Fault('invalid', `it has no snapshot ${name.slice(0, 80)}.`);
}

interface Work {
  readonly hypervisor: Hypervisor;
  readonly connection: LibvirtConnection;
  readonly domain: Domain;
  readonly claim: Claim;
  readonly options: { readonly signal: AbortSignal; readonly timeout: number };
}

/** Work on a snapshot, alone on its machine. Memory and disks may be large: it takes as long as it takes. */
async function alone(machine: Machine, signal: AbortSignal, work: (work: Work) => Promise<void>): Promise<void> {
  const { node } = machine.access;
  const hypervisor = await hypervisorOf(machine, signal);
  const { connection } = hypervisor;
  const options = { signal, timeout: copyTimeout };
  await hypervisor.alone(node, signal, async (claim) =>
    work({ hypervisor, connection, domain: await hypervisor.machine(node, signal), claim, options }),
  );
}

const disksOf = async ({ connection, domain, options: { signal } }: Work): Promise<readonly MachineDisk[]> =>
  machineDisks(readXml(await domainXml(connection, domain, 'now', { signal })));

/** Does something to a snapshot that libvirt knows, when nobody else uses the disks that it is of. */
const onSnapshot = (
  machine: Machine,
  name: string,
  act: (work: Work, snapshot: Snapshot, held: SnapshotDisks) => Promise<void>,
  signal: AbortSignal,
): Promise<void> =>
  alone(machine, signal, async (work) => {
    const { hypervisor, connection, domain, claim } = work;
    const snapshot = await named(connection, domain, name, signal);
    const held = await snapshotDisks(connection, snapshot, signal);
    const byPath = new Map([...(await disksOf(work)), ...held.disks].map((disk) => [disk.path, disk]));
    await refuseAmbiguous(hypervisor, [...byPath.values()], name, 1, signal);
    const paths = [...new Set([...byPath.keys(), ...(await snapshotFiles(connection, snapshot, signal))])];
    // Hypervisors that do not answer stop nobody, unless files are to be deleted.
    const force = held.isExternal ? 'never' : true;
    await refuseUsed(hypervisor, { paths, owner: domain, force, masters: [], claim }, signal);
    await act(work, snapshot, held);
  });

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
  if (!nameShape.test(name) || isNumber.test(name)) throw wrongName(name);
  if (description !== undefined && description.length > longestDescription) {
    throw new Fault('invalid', `the description of a snapshot has at most ${longestDescription} characters.`);
  }
  await alone(machine, signal, async (work) => {
    const { hypervisor, connection, domain, options } = work;
    if (await findSnapshot(connection, domain, name, { signal })) {
      throw new Fault('invalid', `it already has a snapshot ${name}; give another name.`);
    }
    const disks = await disksOf(work);
    const unfit = disks.find(({ format }) => format !== 'qcow2');
    if (unfit) {
      throw new Fault('invalid', `its disk ${unfit.device} is ${unfit.format}, and only qcow2 can hold snapshots.`);
    }
    await refuseAmbiguous(hypervisor, disks, name, 0, signal);
    const xml = element(
      'domainsnapshot',
      {},
      element('name', {}, name),
      description === undefined ? undefined : element('description', {}, description),
    );
    const { state } = await domainState(connection, domain, { signal });
    try {
      await createSnapshot(connection, domain, writeXml(xml), options);
    } catch (error) {
      const resume = async (at: { readonly connection: LibvirtConnection }, later: AbortSignal): Promise<void> => {
        const now = await domainState(at.connection, domain, { signal: later });
        if (state === domainStates.running && now.state === domainStates.paused) await goOn(at, domain, later);
      };
      const remove = async (at: { readonly connection: LibvirtConnection }, later: AbortSignal): Promise<void> => {
        const made = await findSnapshot(at.connection, domain, name, { signal: later });
        if (made) await deleteSnapshot(at.connection, made, { signal: later, timeout: copyTimeout });
      };
      throw await undone(error, [remove, resume], machine, 'It could not all be made as it was:');
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
    onSnapshot(
      machine,
      name,
      async (work, snapshot, held) => {
        await refuseSaved(work.hypervisor, work.domain, signal);
        await refuseIncomplete(work.hypervisor, snapshot, held, signal);
        await revertToSnapshot(work.connection, snapshot, work.options);
      },
      signal,
    ),
  remove: (name, signal) =>
    onSnapshot(machine, name, (work, snapshot) => deleteSnapshot(work.connection, snapshot, work.options), signal),
});
