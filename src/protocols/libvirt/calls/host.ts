import type { CallOptions, LibvirtConnection } from '../connection.ts';
import { procedures } from '../procedures.ts';
import { XdrWriter } from '../wire.ts';
import { elementAt, readXml, textOf } from '../xml.ts';

/** What a host says of itself: the same over all connections to it. Any other can say the same, so nothing is permitted by it. */
export async function hostIdentity(connection: LibvirtConnection, options: CallOptions): Promise<string> {
  const [capabilities, hostname] = await Promise.all(
    [procedures.connectGetCapabilities, procedures.connectGetHostname].map(async (procedure) =>
      (await connection.call(procedure, new XdrWriter(), options)).string(),
    ),
  );
  return `${textOf(elementAt(readXml(capabilities!), 'host', 'uuid'))} ${hostname}`;
}

const modelCharacters = 32;

/** Bytes of memory that the host has. */
export async function hostMemory(connection: LibvirtConnection, options: CallOptions): Promise<bigint> {
  const reply = await connection.call(procedures.nodeGetInfo, new XdrWriter(), options);
  for (let each = 0; each < modelCharacters; each++) reply.int();
  return reply.uhyper() * 1024n;
}
