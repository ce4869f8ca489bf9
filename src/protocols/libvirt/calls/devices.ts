import type { CallOptions, LibvirtConnection } from '../connection.ts';
import { procedures } from '../procedures.ts';
import { writeTexts } from '../wire.ts';
import { aboutDomain, type Domain } from './domains.ts';

/** What a change is made to: the machine that runs, its definition for the next start, or both. */
export const affects = { running: 1, definition: 2, both: 3 } as const;
export type Affects = (typeof affects)[keyof typeof affects];

export async function attachDevice(
  connection: LibvirtConnection,
  domain: Domain,
  xml: string,
  what: Affects,
  options: CallOptions,
): Promise<void> {
  await connection.call(procedures.domainAttachDeviceFlags, aboutDomain(domain).string(xml).uint(what), options);
}

/** Of one that runs the guest is only asked: the device is gone when it has let go of it. */
export async function detachDevice(
  connection: LibvirtConnection,
  domain: Domain,
  xml: string,
  what: Affects,
  options: CallOptions,
): Promise<void> {
  await connection.call(procedures.domainDetachDeviceFlags, aboutDomain(domain).string(xml).uint(what), options);
}

/** Up to the number it was started with at most. */
export async function setProcessors(
  connection: LibvirtConnection,
  domain: Domain,
  count: number,
  what: Affects,
  options: CallOptions,
): Promise<void> {
  await connection.call(procedures.domainSetVcpusFlags, aboutDomain(domain).uint(count).uint(what), options);
}

/** Asks the guest of one that runs to give memory back or to take some again. */
export async function setMemory(
  connection: LibvirtConnection,
  domain: Domain,
  kibibytes: bigint,
  what: Affects,
  options: CallOptions,
): Promise<void> {
  await connection.call(procedures.domainSetMemoryFlags, aboutDomain(domain).uhyper(kibibytes).uint(what), options);
}

/** A disk of one that runs, by its device or path. */
export async function resizeDisk(
  connection: LibvirtConnection,
  domain: Domain,
  disk: string,
  bytes: bigint,
  options: CallOptions,
): Promise<void> {
  const inBytes = 1;
  const body = aboutDomain(domain).string(disk).uhyper(bytes).uint(inBytes);
  await connection.call(procedures.domainBlockResize, body, options);
}

/** Bytes that a disk holds, whether the machine runs or not. */
export async function diskCapacity(
  connection: LibvirtConnection,
  domain: Domain,
  disk: string,
  options: CallOptions,
): Promise<bigint> {
  const reply = await connection.call(procedures.domainGetBlockInfo, aboutDomain(domain).string(disk).uint(0), options);
  /* What it takes now. */
  reply.uhyper();
  return reply.uhyper();
}

const none = 0;

/** Begins to copy a disk of a machine that runs into a file that is there; from then on what is written goes to both. */
export async function copyDisk(
  connection: LibvirtConnection,
  domain: Domain,
  disk: string,
  destinationXml: string,
  options: CallOptions,
): Promise<void> {
  const intoExisting = 2;
  const endsWithTheMachine = 4;
  const body = aboutDomain(domain).string(disk).string(destinationXml);
  const flags = intoExisting + endsWithTheMachine;
  await connection.call(procedures.domainBlockCopy, writeTexts(body, []).uint(flags), options);
}

/** Undefined: the disk has no job any more. All of it is copied when both numbers are the same. */
export async function copyProgress(
  connection: LibvirtConnection,
  domain: Domain,
  disk: string,
  options: CallOptions,
): Promise<{ readonly done: bigint; readonly of: bigint } | undefined> {
  const body = aboutDomain(domain).string(disk).uint(none);
  const reply = await connection.call(procedures.domainGetBlockJobInfo, body, options);
  const found = reply.int();
  /* What kind of job it is, and how fast it may be. */
  reply.int();
  reply.uhyper();
  return found === 0 ? undefined : { done: reply.uhyper(), of: reply.uhyper() };
}

/** What was copied is as the disk is in this moment, if all of it was; the machine goes on with its own. */
export async function endCopy(
  connection: LibvirtConnection,
  domain: Domain,
  disk: string,
  options: CallOptions,
): Promise<void> {
  await connection.call(procedures.domainBlockJobAbort, aboutDomain(domain).string(disk).uint(none), options);
}
