import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startLibvirt } from '../../lab/libvirt.ts';
import { guestXml } from '../../lab/libvirt/guest.ts';
import { machinesHere, stranger, uuidOf } from './world.ts';

/** A real hypervisor on the management node, with machines that are off: some have the names of nodes, one is no node at all. */
export async function startHypervisor(): Promise<{ readonly socket: string; stop(): Promise<void> }> {
  const { directory, socket, virsh, stop } = await startLibvirt();
  for (const name of [...machinesHere, stranger]) {
    const file = join(directory, `${name}.xml`);
    writeFileSync(file, guestXml(name, name === stranger ? {} : { uuid: uuidOf('a', name) }));
    await virsh('define', file);
  }
  return { socket, stop };
}
