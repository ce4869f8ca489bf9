import { posix } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Domain } from '../../protocols/libvirt/calls/domains.ts';
import { LibvirtFault } from '../../protocols/libvirt/faults.ts';
import type { KeptMaster } from '../capabilities.ts';
import { deviceName, isDevice, isOfMany, tidyPath } from './device-paths.ts';
import type { Claim } from './disk-claims.ts';
import { type DiskInventory, diskInventory, type MachineWithDisks, Unreadable } from './disk-inventory.ts';
import type { Hypervisor, SilentHypervisor } from './hypervisor.ts';
import { isNamedFor } from './machine-disks.ts';
import { volumeAt } from './pools.ts';
import { mayBeOneDirectory } from './shared-storage.ts';

/** Disks that are about to be deleted, replaced, resized or given to a machine. */
export interface TouchedDisks {
  readonly paths: readonly string[];
  /** The machine that has them. */
  readonly owner?: Domain | undefined;
  /** Hypervisors that do not answer, and directories that cannot be read, do not count. `never`: they count whatever the caller says. */
  readonly force: boolean | 'never';
  /** Their disks stay as they are. */
  readonly masters: readonly KeptMaster[];
  /** Keeps other requests from them for as long as this one is at work. */
  readonly claim: Claim;
}

/** A disk that is touched. */
interface Touched {
  readonly path: string;
  readonly times: string | undefined;
  /** muster made it for the machine that has it, so it is a file of its own. */
  readonly isOwn: boolean;
}

/** A touched disk, and who would lose it. */
interface Use {
  readonly path: string;
  readonly by: string;
  /** What it was recognized by where its name is another. */
  readonly as?: Alias | undefined;
}

interface Alias {
  readonly path: string;
  /** Its directory is the same, or only its times and size are. */
  readonly isCertain: boolean;
}

/**
 * Refuses to touch a disk that belongs to a master, that another machine has, or that any disk is based on: here, and on every
 * hypervisor that muster follows and that has the same files, under whatever name. Whether machines run makes no difference.
 */
export async function refuseUsed(
  hypervisor: Hypervisor,
  { paths: given, owner, force, masters, claim }: TouchedDisks,
  signal: AbortSignal,
): Promise<void> {
  if (given.length === 0) return;
  const paths = given.map((path) => deviceName(tidyPath(path)));
  await claim(hypervisor, paths, signal);
  for (const path of paths) refuseOfMaster(path, masters);
  const unknown: Pick<SilentHypervisor, 'host' | 'reason'>[] = [];
  const look = async (
    at: Hypervisor,
    known: Domain | undefined,
    touched?: readonly Touched[],
  ): Promise<DiskInventory> => {
    const inventory = await diskInventory(at, paths, signal);
    const disks = touched ?? touchedIn(paths, inventory, known);
    const use = await firstUse(inventory, known, new SameDisk(hypervisor, at, disks, inventory, signal));
    if (use) throw used(use, at);
    return inventory;
  };
  const unlessUnknown = async <T>(at: Hypervisor, work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      const isSilence = at !== hypervisor && error instanceof LibvirtFault && error.failure !== 'refused';
      if (!(error instanceof Unreadable) && !isSilence) throw error;
      unknown.push({ host: at.host, reason: error });
      return undefined;
    }
  };
  const here = await unlessUnknown(hypervisor, look(hypervisor, owner));
  const { reached, silent } = await hypervisor.others(signal);
  unknown.push(...silent);
  const touched = here
    ? touchedIn(paths, here, owner)
    : paths.map((path) => ({ path, times: undefined, isOwn: false }));
  for (const other of reached) await unlessUnknown(other, look(other, undefined, touched));
  const [first] = unknown;
  if (first && force !== true) {
    const remedy = first.reason instanceof Unreadable ? 'when they can be read' : `when ${first.host} answers`;
    throw new Fault('invalid', [
      `muster cannot find out whether a machine on ${first.host} uses the disk ${given[0]}: ${first.reason.message}`,
      force === 'never'
        ? `Repeat the command ${remedy}.`
        : `Repeat the command ${remedy}, or use force if no machine there uses it.`,
    ]);
  }
}

function touchedIn(
  paths: readonly string[],
  { disks, machines }: DiskInventory,
  owner: Domain | undefined,
): readonly Touched[] {
  const having = machines.find(({ domain }) => domain.uuid === owner?.uuid);
  return paths.map((path) => ({
    path,
    times: disks.get(path)?.times,
    isOwn: having !== undefined && isOwnFile(having, path),
  }));
}

const isOwnFile = ({ domain, isOurs }: MachineWithDisks, path: string): boolean =>
  isOurs && isNamedFor(domain.name, path);

function used({ path, by, as }: Use, { host }: Hypervisor): Fault {
  if (!as) return new Fault('invalid', `the disk ${path} is in use by ${by} on ${host}.`);
  if (as.isCertain)
    return new Fault('invalid', `the disk ${path} is in use by ${by} on ${host}, where its path is ${as.path}.`);
  return new Fault('invalid', [
    `the disk ${path} seems to be in use by ${by} on ${host}, under the name ${as.path}: both have the same size and times.`,
    `If they are two files, run "touch ${path}" there and repeat the command.`,
  ]);
}

/** What follows the name of a master in the names of its disks. */
const masterSuffix = /^\.[hsv]d[a-z]\.\w+$/;

/** In whatever directory: no node has the name of a master, so no disk of a node has such a name. */
function refuseOfMaster(path: string, masters: readonly KeptMaster[]): void {
  const file = posix.basename(path);
  const owner = masters.find(({ name }) => file.startsWith(name) && masterSuffix.test(file.slice(name.length)));
  if (owner)
    throw new Fault(
      'invalid',
      `the disk ${path} belongs to the master ${owner.name}, and machines may be based on it.`,
    );
}

async function firstUse(
  { machines, disks }: DiskInventory,
  owner: Domain | undefined,
  same: SameDisk,
): Promise<Use | undefined> {
  for (const machine of machines) {
    const { domain, paths } = machine;
    if (domain.uuid === owner?.uuid) continue;
    for (const path of paths) {
      const found = await same.find(path, isOwnFile(machine, path));
      if (found) return { ...found, by: `the machine ${domain.name}` };
    }
  }
  for (const [disk, { bases }] of disks) {
    for (const base of bases) {
      const found = await same.find(base);
      if (found && !(await same.find(disk)) && (await same.isThere(disk)))
        return { ...found, by: `the disk ${disk}, which is based on it,` };
    }
  }
  return undefined;
}

type SameAs = Pick<Use, 'path' | 'as'>;

/** Finds out which of the touched disks a path of a hypervisor is, if any. */
class SameDisk {
  readonly #here: Hypervisor;
  readonly #there: Hypervisor;
  readonly #touched: readonly Touched[];
  readonly #inventory: DiskInventory;
  readonly #signal: AbortSignal;
  /** Of directories here with directories there. */
  readonly #compared = new Map<string, Promise<boolean>>();

  constructor(
    here: Hypervisor,
    there: Hypervisor,
    touched: readonly Touched[],
    inventory: DiskInventory,
    signal: AbortSignal,
  ) {
    this.#here = here;
    this.#there = there;
    this.#touched = touched;
    this.#inventory = inventory;
    this.#signal = signal;
  }

  /** Of two disks that muster made for machines no times are compared: of many that are made at once, some have the same. */
  async find(path: string, isOwn = false): Promise<SameAs | undefined> {
    const named = await this.#named(path);
    if (named || isDevice(path)) return named;
    const times = this.#inventory.disks.get(path)?.times;
    const alike =
      times === undefined
        ? undefined
        : this.#touched.find((touched) => touched.times === times && !(isOwn && touched.isOwn));
    return alike && { path: alike.path, as: { path, isCertain: false } };
  }

  /** The same by name and directory. */
  async #named(path: string): Promise<SameAs | undefined> {
    const isHere = this.#here === this.#there;
    for (const touched of this.#touched) {
      const isNamedSo = touched.path === path;
      if (isNamedSo && isHere) return { path };
      if (isDevice(path)) {
        if (isNamedSo && isOfMany(path)) return { path };
        continue;
      }
      if (posix.basename(touched.path) === posix.basename(path) && (await this.#isOneDirectory(touched.path, path)))
        return { path: touched.path, as: isNamedSo ? undefined : { path, isCertain: true } };
    }
    return undefined;
  }

  /** What libvirt knows of a disk may be from before somebody deleted it. */
  async isThere(disk: string): Promise<boolean> {
    return (await volumeAt(this.#there, disk, this.#signal)) !== undefined;
  }

  #isOneDirectory(here: string, there: string): Promise<boolean> {
    const [first, second] = [posix.dirname(here), posix.dirname(there)];
    const key = JSON.stringify([first, second]);
    let compared = this.#compared.get(key);
    if (!compared)
      this.#compared.set(
        key,
        (compared = mayBeOneDirectory(
          { hypervisor: this.#here, path: first },
          { hypervisor: this.#there, path: second },
          this.#signal,
        )),
      );
    return compared;
  }
}
