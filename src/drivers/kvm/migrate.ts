import { randomUUID } from 'node:crypto';
import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import { diskCapacity } from '../../protocols/libvirt/calls/devices.ts';
import {
  actOnDomain,
  defineDomain,
  type Domain,
  domainState,
  domainStates,
  domainXml,
  findDomain,
  startPaused,
  undefineDomain,
} from '../../protocols/libvirt/calls/domains.ts';
import { migrationFlags } from '../../protocols/libvirt/calls/migration.ts';
import { listSnapshots } from '../../protocols/libvirt/calls/snapshots.ts';
import { deleteVolume } from '../../protocols/libvirt/calls/storage.ts';
import { readXml } from '../../protocols/libvirt/xml.ts';
import type { Migrated, Progress } from '../capabilities.ts';
import { diskTimeout, locationOf, removeVolume, volumeAt, volumeIn } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { isMadeFor, type MachineDisk, machineDisks } from './machine-disks.ts';
import { virtFlags } from './machine-settings.ts';
import { hypervisorOf, type KvmAccess, type Machine, persist, type Undo, undone } from './machine.ts';
import { refuseTaken } from './new-machine.ts';
import { Adrift, transfer } from './transfer.ts';

/** A move of one machine. */
export interface Move {
  /** The node's machine where it is, and where it is to be. */
  readonly from: Machine;
  readonly to: Machine;
  readonly domain: Domain;
  readonly source: Hypervisor;
  readonly target: Hypervisor;
  /** What it does before and is to do afterwards, one of `domainStates`. */
  readonly state: number;
  readonly shared: readonly MachineDisk[];
  readonly copied: readonly MachineDisk[];
  readonly tell: Progress;
  readonly signal: AbortSignal;
}

export async function migrateMachine(
  machine: Machine,
  destination: KvmAccess,
  tell: Progress,
  signal: AbortSignal,
): Promise<Migrated> {
  const { node } = machine.access;
  const host = destination.host!;
  const { isPinned } = virtFlags(machine.access.attributes.vmvirtflags ?? '');
  if (machine.access.host === host) return { hasMoved: false, said: `Guest is already on host ${host}` };
  if (isPinned)
    throw new Fault('invalid', `it stays on ${machine.access.host}: its attribute vmvirtflags pins it there.`);
  const to: Machine = { ...machine, access: destination };
  const source = await hypervisorOf(machine, signal);
  const target = await hypervisorOf(to, signal);
  return source.lengthy.take('', signal, () =>
    source.machines.take(node, signal, async () => {
      const move = await checked(machine, to, source, target, tell, signal);
      const isOnlyDefined = move.state === domainStates.off && move.copied.length === 0;
      const left = [...(await (isOnlyDefined ? redefine(move) : carry(move)))];
      target.known.delete(node);
      source.known.delete(node);
      if (left.length === 0) left.push(...(await removeCopied(move)));
      return { hasMoved: true, said: [`migrated to ${host}`, ...left].join('; ') };
    }),
  );
}

async function checked(
  from: Machine,
  to: Machine,
  source: Hypervisor,
  target: Hypervisor,
  tell: Progress,
  signal: AbortSignal,
): Promise<Move> {
  const { node } = from.access;
  const { connection } = source;
  const domain = await source.machine(node, signal);
  await refuseTaken(target, node, domain.uuid, signal);
  const snapshots = await listSnapshots(connection, domain, { signal });
  if (snapshots.length > 0) {
    throw new Fault(
      'invalid',
      `it has snapshots (${snapshots.map(({ name }) => name).join(', ')}), which cannot move: delete them first.`,
    );
  }
  const { state } = await domainState(connection, domain, { signal });
  const disks = machineDisks(readXml(await domainXml(connection, domain, 'now', { signal })));
  const { shared, copied } = await sharedDisks(source, target, disks, signal);
  if (state !== domainStates.off || copied.length > 0) refuseCached(shared);
  for (const { path } of copied) {
    if (await volumeAt(target, path, signal)) {
      throw new Fault('invalid', `there is another disk ${path} on ${target.host} already; remove it there first.`);
    }
  }
  return { from, to, domain, source, target, state, shared, copied, tell, signal };
}

/** It is off and its disks are where they are to be: only its definition moves. */
async function redefine({ from, to, domain, source, target, signal }: Move): Promise<readonly string[]> {
  const xml = await domainXml(source.connection, domain, 'to define again', { signal });
  const undo: Undo[] = [forget(domain)];
  try {
    await defineDomain(target.connection, xml, { signal });
    await persist(from, forget(domain));
    return [];
  } catch (error) {
    throw await undone(error, undo, to, `It could not be removed from ${target.host} again:`);
  }
}

const forget =
  ({ uuid }: Domain): Undo =>
  async ({ connection }, signal) => {
    const known = await findDomain(connection, { uuid }, { signal });
    if (known) await undefineDomain(connection, known, { signal });
  };

/** Disks go with a machine that is in memory; one that is off is loaded for that, and its processors do not run. */
async function carry(move: Move): Promise<readonly string[]> {
  const { from, to, domain, source, target, state, copied, shared, signal } = move;
  const isOff = state === domainStates.off;
  const [atSource, atTarget]: [Undo[], Undo[]] = [[], []];
  let left: readonly string[];
  try {
    for (const disk of copied) await makeRoom(move, disk, atTarget);
    if (isOff) {
      atSource.push(switchOff(domain));
      await startPaused(source.connection, domain, { signal, timeout: from.powerTimeout });
    }
    const { live, definedAtTarget, undefinedAtSource, paused, protected: kept, copyDisks, unsafe } = migrationFlags;
    const isStill = isOff || state === domainStates.paused;
    const flags = [
      live + definedAtTarget + undefinedAtSource + kept,
      isStill ? paused : 0,
      copied.length > 0 ? copyDisks : 0,
      // Libvirt knows of few file systems that they are shared; it was seen that these are.
      shared.length > 0 ? unsafe : 0,
    ].reduce((sum, flag) => sum + flag, 0);
    left = await transfer(move, { flags, copied: copied.map(({ device }) => device) });
  } catch (error) {
    if (error instanceof Adrift) throw error;
    const failure = await undone(
      error,
      atTarget,
      to,
      `What was made for it on ${target.host} could not all be removed again:`,
    );
    throw await undone(failure, atSource, from, `It could not be made as it was on ${source.host}:`);
  }
  if (isOff) await persist(to, switchOff(domain));
  return left;
}

const switchOff =
  ({ uuid }: Domain): Undo =>
  async ({ connection }, signal) => {
    const known = await findDomain(connection, { uuid }, { signal });
    if (!known) return;
    const { state } = await domainState(connection, known, { signal });
    if (state !== domainStates.off) await actOnDomain(connection, 'destroy', known, { signal });
  };

/** An empty disk of the same size and under the same path. */
async function makeRoom(
  { source, target, domain, signal }: Move,
  { path, format }: MachineDisk,
  undo: Undo[],
): Promise<void> {
  const size = await diskCapacity(source.connection, domain, path, { signal });
  const name = path.slice(path.lastIndexOf('/') + 1);
  await volumeIn(target, locationOf(path), { name, size, format, force: false }, undo, signal);
}

/** What was copied is of no more use where it was; what was not made for it stays, and is reported. */
async function removeCopied({ from, source, copied }: Move): Promise<readonly string[]> {
  const left: string[] = [];
  for (const disk of copied) {
    if (!isMadeFor(from.access.node, disk))
      left.push(`its disk ${disk.path} stays on ${source.host} too, as it was not made for it`);
    else {
      try {
        await persist(from, async (at, later) => {
          const volume = await volumeAt(at, disk.path, later);
          if (volume) await deleteVolume(at.connection, volume, { signal: later, timeout: diskTimeout });
        });
      } catch (error) {
        left.push(`its disk ${disk.path} could not be deleted on ${source.host} (${(error as Error).message})`);
      }
    }
  }
  return left;
}

/** Two writers of one file go well together only where nothing is kept in between. */
const safeCaches: readonly (string | undefined)[] = ['none', 'directsync'];

/** Which disks the other hypervisor has as well, and which have to be copied. */
async function sharedDisks(
  source: Hypervisor,
  target: Hypervisor,
  disks: readonly MachineDisk[],
  signal: AbortSignal,
): Promise<{ readonly shared: readonly MachineDisk[]; readonly copied: readonly MachineDisk[] }> {
  const device = disks.find(({ kind }) => kind === 'block');
  if (device) {
    throw new Fault(
      'invalid',
      `its disk ${device.device} is the device ${device.path}, and muster cannot know whether ${target.host} has the same.`,
    );
  }
  const directories = new Map<string, boolean>();
  for (const { path } of disks) {
    const directory = posix.dirname(path);
    if (!directories.has(directory)) directories.set(directory, await isShared(source, target, directory, signal));
  }
  const isBoth = ({ path }: MachineDisk): boolean => directories.get(posix.dirname(path))!;
  return { shared: disks.filter(isBoth), copied: disks.filter((disk) => !isBoth(disk)) };
}

/** What one makes in the directory the other sees there. The same path alone says nothing. */
async function isShared(
  source: Hypervisor,
  target: Hypervisor,
  directory: string,
  signal: AbortSignal,
): Promise<boolean> {
  const name = `muster-probe-${randomUUID()}`;
  const path = posix.join(directory, name);
  const location = locationOf(path);
  try {
    await volumeIn(target, location, { name, size: 1n, format: 'raw', force: false }, [], signal);
    return (await volumeAt(source, path, signal)) !== undefined;
  } finally {
    await removeVolume(target, location, name, AbortSignal.timeout(probeTimeout));
  }
}
const probeTimeout = 30_000;

/** A running machine's data may otherwise still be on its way to the file when the other one reads it. */
function refuseCached(disks: readonly MachineDisk[]): void {
  const cached = disks.find(({ cache }) => !safeCaches.includes(cache));
  if (!cached) return;
  const { device, cache = 'default' } = cached;
  throw new Fault(
    'invalid',
    `its disk ${device} has the cache "${cache}", with which it cannot move while it runs; use none or directsync.`,
  );
}
