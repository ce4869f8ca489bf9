import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import type { BootOrder } from '../boot-order.ts';
import type { BootRoute } from '../routes/route.ts';
import type { MachineDiscovery } from './machines.ts';
import { discoveryIsOn } from './ranges.ts';

export interface DiscoverySources {
  readonly machines: MachineDiscovery;
  snapshot(): Snapshot;
  /** Where the small ramdisk of an architecture lies below the root of the listener; a Fault says that there is none. */
  ramdisk(arch: string): { readonly kernel: string; readonly initrd: string };
}

const architectures = ['x86_64', 'aarch64'];

/** Lets machines that nobody knows boot the small ramdisk while discovery is on, and takes what it says: `POST /boot/discovery`. */
export const discoveryRoute = ({ machines, snapshot, ramdisk }: DiscoverySources): BootRoute => ({
  async take([first, second, ...more], body, { address }) {
    if (first !== 'boot' || second !== 'discovery' || more.length > 0) return undefined;
    return { text: `${await machines.report(body, address)}\n` };
  },
  unknown(_mac, _asker, { authority, server }) {
    if (!discoveryIsOn(snapshot())) return Promise.resolve([]);
    const orders = architectures.flatMap((arch) => {
      const files = filesOf(arch, ramdisk);
      if (!files) return [];
      const args = `quiet xcatd=${server}:3001 destiny=discover muster.discovery=http://${authority}/boot/discovery`;
      const order: BootOrder = {
        kind: 'load',
        state: 'discover',
        arch,
        ...files,
        args,
        added: [],
        leadsTo: 'booting',
      };
      return order;
    });
    return Promise.resolve(orders);
  },
});

function filesOf(arch: string, ramdisk: DiscoverySources['ramdisk']): ReturnType<typeof ramdisk> | undefined {
  try {
    return ramdisk(arch);
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}
