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
import { childElements, type Element, elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { Migrated, Progress } from '../capabilities.ts';
import { madeHere } from './definition.ts';
import type { Claim } from './disk-claims.ts';
import { refuseUsed } from './disk-users.ts';
import { volumeIn } from './disks.ts';
import type { Hypervisor } from './hypervisor.ts';
import { devicesOf, isMadeFor, type MachineDisk, machineDisks } from './machine-disks.ts';
import { virtFlags } from './machine-settings.ts';
import { hypervisorOf, type KvmAccess, type Machine, persist, type Undo, undone } from './machine.ts';
import { type Arrival, refuseReaching } from './moved-definition.ts';
import { refuseTaken } from './new-machine.ts';
import { isPartial, unmarkAll } from './partial-disks.ts';
import { diskTimeout, locationOf, volumeAt } from './pools.ts';
import { refuseOtherFiles } from './same-files.ts';
import { refuseSaved } from './saved-memory.ts';
import { isShared } from './shared-storage.ts';
import { Adrift, transfer } from './transfer.ts';
import { withNote } from './unfinished-work.ts';

/** A move of one machine. */
export interface Move {
  /** The node's machine where it is, and where it is to be. */
  readonly from: Machine;
  readonly to: Machine;
  readonly domain: Domain;
  readonly source: Hypervisor;
  readonly target: Hypervisor;
  readonly arrival: Arrival;
  /** What it does before and is to do afterwards, one of `domainStates`. */
  readonly state: number;
  readonly shared: readonly MachineDisk[];
  readonly copied: readonly MachineDisk[];
  readonly tell: Progress;
  readonly claim: Claim;
  readonly request: string;
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
    source.alone(node, signal, async (claim, request) => {
      const move = await checked(machine, to, source, target, { tell, claim, request, signal });
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
  { tell, claim, request, signal }: Pick<Move, 'tell' | 'claim' | 'request' | 'signal'>,
): Promise<Move> {
  const { node } = from.access;
  const { connection } = source;
  const domain = await source.machine(node, signal);
  const { state } = await domainState(connection, domain, { signal });
  const isBegun = state === domainStates.off && (await isDefinedAt(target, domain, signal));
  if (!isBegun) await refuseTaken(target, node, domain.uuid, signal);
  await refuseSaved(source, domain, signal);
  const snapshots = await listSnapshots(connection, domain, { signal });
  if (snapshots.length > 0) {
    throw new Fault(
      'invalid',
      `it has snapshots (${snapshots.map(({ name }) => name).join(', ')}), which cannot move: delete them first.`,
    );
  }
  const xml = readXml(await domainXml(connection, domain, 'now', { signal }));
  refuseUncertain(xml, target);
  const arrival: Arrival = {
    host: target.host,
    passesDevices: /(^|;)\s*devpassthrough:/.test(from.access.attributes.vmothersetting ?? ''),
  };
  refuseReaching(xml, arrival);
  if (state !== domainStates.off)
    refuseReaching(readXml(await domainXml(connection, domain, 'next start', { signal })), arrival);
  if (state === domainStates.off) refuseVariables(node, xml, source);
  const disks = machineDisks(xml);
  const { shared, copied } = await sharedDisks(source, target, disks, signal);
  await refuseOtherFiles(source, target, shared, signal);
  if (state !== domainStates.off || copied.length > 0) refuseCached(shared);
  // Its disks there would be others.
  if (copied.length > 0 && isBegun) await refuseTaken(target, node, domain.uuid, signal);
  for (const { path } of copied) {
    if ((await volumeAt(target, path, signal)) && !(await isPartial(target, path, signal))) {
      throw new Fault('invalid', `there is another disk ${path} on ${target.host} already; remove it there first.`);
    }
  }
  return { from, to, domain, source, target, arrival, state, shared, copied, tell, claim, request, signal };
}

/** A muster that was killed may have defined it at the target, and not yet removed it from the source: it is off at both. */
async function isDefinedAt(target: Hypervisor, { name, uuid }: Domain, signal: AbortSignal): Promise<boolean> {
  const { connection } = target;
  const there = await findDomain(connection, { uuid }, { signal });
  if (there?.name !== name) return false;
  const xml = readXml(await domainXml(connection, there, 'next start', { signal }));
  if (!elementAt(xml, 'metadata', madeHere)) return false;
  if ((await listSnapshots(connection, there, { signal })).length > 0) return false;
  await refuseSaved(target, there, signal);
  return (await domainState(connection, there, { signal })).state === domainStates.off;
}

/** It is off and its disks are where they are to be: only its definition moves. */
async function redefine({ from, to, domain, source, target, arrival, signal }: Move): Promise<readonly string[]> {
  const xml = await domainXml(source.connection, domain, 'to define again', { signal });
  refuseReaching(readXml(xml), arrival);
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
  const left: string[] = [];
  try {
    for (const disk of copied) await makeRoom(move, disk, atTarget);
    if (isOff) {
      const xml = readXml(await domainXml(source.connection, domain, 'to define again', { signal }));
      const noted = withNote(xml, { request: move.request, command: 'rmigrate', was: 'off' });
      atSource.push(switchOff(domain));
      await startPaused(source.connection, writeXml(noted), { signal, timeout: from.powerTimeout });
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
    left.push(...(await transfer(move, { flags, copied: copied.map(({ device }) => device) })));
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
  try {
    await persist(to, (at, later) => unmarkAll(at, copied, later));
  } catch (error) {
    left.push(
      `what marks its disks as incomplete could not be removed on ${target.host} (${(error as Error).message})`,
    );
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
  { source, target, domain, claim, signal }: Move,
  { path, format }: MachineDisk,
  undo: Undo[],
): Promise<void> {
  const size = await diskCapacity(source.connection, domain, path, { signal });
  const name = path.slice(path.lastIndexOf('/') + 1);
  await volumeIn(target, locationOf(path), { name, size, format, force: false, masters: [], claim }, undo, signal);
}

/** What was copied is of no more use where it was; what was not made for it stays, and is reported. */
async function removeCopied({ from, source, copied, claim }: Move): Promise<readonly string[]> {
  const left: string[] = [];
  for (const disk of copied) {
    if (!isMadeFor(from.access.node, disk))
      left.push(`its disk ${disk.path} stays on ${source.host} too, as it was not made for it`);
    else {
      try {
        await persist(from, async (at, later) => {
          await refuseUsed(at, { paths: [disk.path], force: false, masters: [], claim }, later);
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

/** Of what is neither a file nor on the network, the other hypervisor may have something else under the same name. */
function refuseUncertain(domain: Element, { host }: Hypervisor): void {
  const uncertain = childElements(devicesOf(domain), 'disk').find(
    ({ attributes: { type = 'file', device = 'disk' } }) =>
      ['disk', 'lun'].includes(device) && !['file', 'block', 'network'].includes(type),
  );
  if (!uncertain) return;
  const { dev = '' } = elementAt(uncertain, 'target')?.attributes ?? {};
  const { pool, volume } = elementAt(uncertain, 'source')?.attributes ?? {};
  const what =
    pool && volume ? `the volume ${volume} of the pool ${pool}` : `of the type ${uncertain.attributes['type']}`;
  throw new Fault('invalid', [
    `its disk ${dev} is ${what}, and muster cannot know whether ${host} has the same.`,
    'Define the disk by the path of its file, or move the machine with virsh.',
  ]);
}

/** They are in a file of the hypervisor, which goes along only in the memory of a machine that runs. */
function refuseVariables(node: string, domain: Element, { host }: Hypervisor): void {
  const isUefi = elementAt(domain, 'os')?.attributes['firmware'] === 'efi' || elementAt(domain, 'os', 'nvram');
  if (!isUefi) return;
  throw new Fault('invalid', [
    `it is off, and its UEFI variables, such as the boot order, are in a file of ${host} that moves only with a running machine.`,
    `Switch it on with PUT /nodes/${node}/power {"action":"on"} and move it while it runs.`,
  ]);
}

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
