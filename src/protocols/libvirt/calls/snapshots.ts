import type { CallOptions, LibvirtConnection } from '../connection.ts';
import { longestList, type XdrReader, XdrWriter } from '../wire.ts';
import { aboutDomain, type Domain, readDomain, writeDomain } from './domains.ts';
import { isRefusal } from '../faults.ts';
import { errorCodes, procedures } from '../procedures.ts';

export interface Snapshot {
  readonly name: string;
  readonly domain: Domain;
}

const none = 0;

const readSnapshot = (body: XdrReader): Snapshot => ({ name: body.string(), domain: readDomain(body) });
const about = ({ name, domain }: Snapshot): XdrWriter => writeDomain(new XdrWriter().string(name), domain);

/** By name: libvirt has no order. */
export async function listSnapshots(
  connection: LibvirtConnection,
  domain: Domain,
  options: CallOptions,
): Promise<readonly Snapshot[]> {
  const wantsThem = 1;
  const body = aboutDomain(domain).int(wantsThem).uint(none);
  const reply = await connection.call(procedures.domainListAllSnapshots, body, options);
  return reply.list(longestList, () => readSnapshot(reply)).toSorted((a, b) => a.name.localeCompare(b.name));
}

/** Undefined where there is none of that name. */
export async function findSnapshot(
  connection: LibvirtConnection,
  domain: Domain,
  name: string,
  options: CallOptions,
): Promise<Snapshot | undefined> {
  try {
    const body = aboutDomain(domain).string(name).uint(none);
    return readSnapshot(await connection.call(procedures.domainSnapshotLookupByName, body, options));
  } catch (error) {
    if (isRefusal(error, errorCodes.noDomainSnapshot)) return undefined;
    throw error;
  }
}

/** As the XML says. All of its disks, or none. */
export async function createSnapshot(
  connection: LibvirtConnection,
  domain: Domain,
  xml: string,
  options: CallOptions,
): Promise<Snapshot> {
  const body = aboutDomain(domain).string(xml).uint(none);
  return readSnapshot(await connection.call(procedures.domainSnapshotCreateXml, body, options));
}

export async function snapshotXml(
  connection: LibvirtConnection,
  snapshot: Snapshot,
  options: CallOptions,
): Promise<string> {
  return (await connection.call(procedures.domainSnapshotGetXml, about(snapshot).uint(none), options)).string();
}

/** The machine is as it was then: it runs if it ran. */
export async function revertToSnapshot(
  connection: LibvirtConnection,
  snapshot: Snapshot,
  options: CallOptions,
): Promise<void> {
  await connection.call(procedures.domainRevertToSnapshot, about(snapshot).uint(none), options);
}

/** What follows it becomes what follows the one before it. */
export async function deleteSnapshot(
  connection: LibvirtConnection,
  snapshot: Snapshot,
  options: CallOptions,
): Promise<void> {
  await connection.call(procedures.domainSnapshotDelete, about(snapshot).uint(none), options);
}
