import type { CallOptions, LibvirtConnection } from '../connection.ts';
import type { Domain } from '../domain.ts';
import { procedures } from '../procedures.ts';
import { aboutDomain } from './domains.ts';

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
