import type { CallOptions, LibvirtConnection } from '../connection.ts';
import { LibvirtFault } from '../faults.ts';
import { authentications, features, procedures } from '../procedures.ts';
import { XdrWriter } from '../xdr-writer.ts';

const mostAuthentications = 20;

/** Opens a driver such as `qemu:///system`; then machines can be asked for. The daemon's signs of life are watched from now on. */
export async function openDriver(connection: LibvirtConnection, uri: string, options: CallOptions): Promise<void> {
  const offered = await connection.call(procedures.authList, new XdrWriter(), options);
  const kinds = offered.list(mostAuthentications, () => offered.int());
  if (!kinds.includes(authentications.none)) {
    const names = Object.entries(authentications).flatMap(([name, kind]) => (kinds.includes(kind) ? name : []));
    throw new LibvirtFault(
      'refused',
      `libvirt on ${connection.where} wants to know who asks (${names.join(', ')}); muster has to be root there, or let in without.`,
    );
  }
  const name = new XdrWriter();
  await connection.call(procedures.connectOpen, name.optional(uri, (text) => name.string(text)).uint(0), options);
  const asked = new XdrWriter().int(features.keepalive);
  if ((await connection.call(procedures.connectSupportsFeature, asked, options)).bool()) connection.watchLife();
}
