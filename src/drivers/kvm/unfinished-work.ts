import { endCopy } from '../../protocols/libvirt/calls/devices.ts';
import {
  actOnDomain,
  type Domain,
  domainState,
  domainStates,
  domainXml,
  setMetadata,
} from '../../protocols/libvirt/calls/domains.ts';
import type { LibvirtConnection } from '../../protocols/libvirt/connection.ts';
import { isRefusal } from '../../protocols/libvirt/faults.ts';
import { errorCodes } from '../../protocols/libvirt/procedures.ts';
import { type Element, element, elementAt, readXml, writeXml } from '../../protocols/libvirt/xml.ts';
import type { Hypervisor } from './hypervisor.ts';
import { goOn } from './left-paused.ts';
import { machineDisks, mirrorOf } from './machine-disks.ts';
import { isPartial } from './partial-disks.ts';

/**
 * What a request does to a machine and takes back at its end: it pauses the machine, copies its disks while it runs, or loads one that is
 * off. The metadata of the loaded machine says so, moves with it, and is gone when it is off. If muster dies, the next one finds this note
 * and makes the machine as it was.
 */
export interface UnfinishedWork {
  /** The request, by the name that it has while it is at work. */
  readonly request: string;
  readonly command: 'clonevm' | 'rmigrate';
  /** What the machine did before. */
  readonly was: 'running' | 'paused' | 'off';
}

const [prefix, namespace] = ['muster', 'urn:muster:work'];
const noteName = `${prefix}:work`;

/** Writes the note into a loaded machine. */
export const noteWork = (
  connection: LibvirtConnection,
  domain: Domain,
  work: UnfinishedWork,
  signal: AbortSignal,
): Promise<void> => {
  const xml = writeXml(element('work', { ...work }));
  return setMetadata(connection, domain, { xml, prefix, namespace }, { signal });
};

/** One that is off, or gone, has none. */
export const removeNote = (connection: LibvirtConnection, domain: Domain, signal: AbortSignal): Promise<void> =>
  unlessOver(setMetadata(connection, domain, { xml: undefined, prefix, namespace }, { signal }));

/** The definition of a machine with the note in it. */
export function withNote(domain: Element, work: UnfinishedWork): Element {
  const metadata = elementAt(domain, 'metadata') ?? element('metadata');
  const noted = element(noteName, { [`xmlns:${prefix}`]: namespace, ...work });
  const others = domain.children.filter((child) => child !== metadata);
  return { ...domain, children: [...others, { ...metadata, children: [...metadata.children, noted] }] };
}

interface LeftWork extends UnfinishedWork {
  readonly xml: Element;
}

/** The note of a request that is not at work any more. */
async function leftWork(
  { connection, requests }: Hypervisor,
  domain: Domain,
  signal: AbortSignal,
): Promise<LeftWork | undefined> {
  const text = await unlessOver(domainXml(connection, domain, 'now', { signal }));
  if (text === undefined) return undefined;
  const xml = readXml(text);
  const work = elementAt(xml, 'metadata', noteName)?.attributes as UnfinishedWork | undefined;
  return work && !requests.has(work.request) ? { ...work, xml } : undefined;
}

export const hasLeftWork = async (hypervisor: Hypervisor, domain: Domain, signal: AbortSignal): Promise<boolean> =>
  (await leftWork(hypervisor, domain, signal)) !== undefined;

/** Makes a machine as it was before a request that did not end, and reports that. */
export async function takeBackLeftWork(hypervisor: Hypervisor, domain: Domain, signal: AbortSignal): Promise<void> {
  const left = await leftWork(hypervisor, domain, signal);
  if (!left) return;
  const acts = await takeBack(hypervisor, domain, left, signal);
  if (acts.length > 0)
    hypervisor.tookBack(
      domain.name,
      `was left by a command that did not end (${left.command}). muster ${acts.join(' and ')}. Repeat the command.`,
    );
}

/** What it did for that. */
async function takeBack(
  hypervisor: Hypervisor,
  domain: Domain,
  { command, was, xml }: LeftWork,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { connection } = hypervisor;
  const isPaused = async (): Promise<boolean> =>
    (await unlessOver(domainState(connection, domain, { signal })))?.state === domainStates.paused;
  const acts: string[] = [];
  if (command === 'clonevm' && (await endCopies(hypervisor, domain, xml, signal)))
    acts.push('ended the copies of its disks');
  // Somebody may have resumed it already, and its guest runs.
  if (was === 'running' && (await isPaused())) {
    await goOn(hypervisor, domain, signal);
    acts.push('resumed it');
  }
  if (was === 'off' && (await isPaused())) {
    await unlessOver(actOnDomain(connection, 'destroy', domain, { signal }));
    acts.push('switched it off again');
  }
  await removeNote(connection, domain, signal);
  return acts;
}

/** Those that muster makes go into disks that it has marked; what else copies a disk is not its own. Whether there were any. */
async function endCopies(hypervisor: Hypervisor, domain: Domain, xml: Element, signal: AbortSignal): Promise<boolean> {
  let wereAny = false;
  for (const disk of machineDisks(xml)) {
    const path = mirrorOf(disk);
    if (path === undefined || !(await isPartial(hypervisor, path, signal))) continue;
    await unlessOver(endCopy(hypervisor.connection, domain, disk.device, { signal }));
    wereAny = true;
  }
  return wereAny;
}

/** What is to be ended may end by itself at any moment, and a machine may go. */
async function unlessOver<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isRefusal(error, errorCodes.noDomain, errorCodes.operationInvalid)) return undefined;
    throw error;
  }
}
