import { Fault } from '../../../core/errors.ts';
import { normalMac } from '../../dhcp/reservations.ts';
import type { BootOrder } from '../boot-order.ts';
import { type GrubDevice, grubRefusal, grubScript, grubStart, grubUnknown } from '../grub-script.ts';
import { ipxeRefusal, ipxeScript, ipxeUnknown } from '../ipxe-script.ts';
import type { NodeIndex } from '../node-index.ts';
import type { NodeOrders } from '../node-orders.ts';
import type { Asker, Found } from './found.ts';
import type { BootRoom } from './room.ts';

/** How a loader is told what to do. */
interface Language {
  script(name: string, mac: string, order: BootOrder, asker: Asker): string;
  unknown(mac: string, orders: readonly BootOrder[], asker: Asker): string;
  refusal(reason: string): string;
}

const languages: Readonly<Record<string, Language>> = {
  ipxe: {
    script: (name, _mac, order, { authority }) => ipxeScript(name, order, authority),
    unknown: (mac, orders, { authority }) => ipxeUnknown(mac, orders, authority),
    refusal: ipxeRefusal,
  },
  grub: {
    script: (name, mac, order, asker) => grubScript(name, mac, order, grubDevice(asker), asker.server),
    unknown: (mac, orders, asker) => grubUnknown(mac, orders, grubDevice(asker), asker.server),
    refusal: grubRefusal,
  },
};

/** Where GRUB looks for what it is to do; that of Debian's installer has a directory of its own. */
const grubStarts = /^(?:debian-installer\/(?:amd64|arm64)\/)?grub\/grub\.cfg$/;

/** Scripts by the MAC address of the machine that asks: `boot/MAC.ipxe` and `boot/MAC.grub`, and what leads GRUB there. */
export const scriptRoom = (index: NodeIndex, orders: NodeOrders): BootRoom => ({
  async find(segments, asker) {
    const path = segments.join('/');
    if (grubStarts.test(path)) return { kind: 'text', text: grubStart(grubDevice(asker)), step: 'script' };
    const [, name = '', ending = ''] = /^boot\/([^/.]+)\.(ipxe|grub)$/.exec(path) ?? [];
    const mac = normalMac(name);
    const language = languages[ending];
    if (mac === undefined || !language) return undefined;
    const node = index.byMac(mac);
    if (node === undefined) {
      const text = language.unknown(mac, await orders.ofUnknown(mac, asker), asker);
      return { kind: 'text', text, step: 'script' };
    }
    return scriptOf(
      node,
      relationOf(index, node, asker),
      async () => {
        const order = await orders.of(node, asker);
        return { order, text: language.script(node, mac, order, asker) };
      },
      language.refusal,
    );
  },
});

/** Whether who asks is the node by its address, or may be it since no address of it is known. */
interface Relation {
  readonly isNode: boolean;
  readonly mayBeNode: boolean;
}

export const relationOf = (index: NodeIndex, node: string, { address }: Asker): Relation => ({
  isNode: index.byAddress(address) === node,
  mayBeNode: index.mayBe(node, address),
});

/**
 * A script of a node, or one that tells why there is none. Whoever else looks at it must not change what is known of the node, and does
 * not learn why: the reason may name files of this machine.
 */
export async function scriptOf(
  node: string,
  { isNode, mayBeNode }: Relation,
  make: () => Promise<{ readonly order: BootOrder; readonly text: string }>,
  refusal: (reason: string) => string,
): Promise<Found> {
  try {
    const { order, text } = await make();
    if (!mayBeNode) return { kind: 'text', text, foreignNode: node, step: 'script' };
    return { kind: 'text', text, node, step: 'script', leadsTo: order.kind === 'load' ? order.leadsTo : 'booting' };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const text = refusal(
      `${node}: ${isNode ? error.message : `It cannot boot now; GET /nodes/${node}/boot tells why.`}`,
    );
    if (!mayBeNode) return { kind: 'text', text, foreignNode: node, step: 'script' };
    return { kind: 'text', text, node, step: 'script', leadsTo: 'failed', problem: error.message };
  }
}

/** GRUB goes on with the protocol that it has asked by: signed ones may have no other. */
const grubDevice = ({ protocol, server, authority }: Asker): GrubDevice =>
  protocol === 'http' ? `(http,${authority})` : `(tftp,${server.includes(':') ? `[${server}]` : server})`;
