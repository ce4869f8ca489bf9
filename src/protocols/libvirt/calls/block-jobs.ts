import type { CallOptions, LibvirtConnection } from '../connection.ts';
import type { Domain } from '../domain.ts';
import { writeTexts } from '../parameters.ts';
import { procedures } from '../procedures.ts';
import { aboutDomain } from './domains.ts';

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
