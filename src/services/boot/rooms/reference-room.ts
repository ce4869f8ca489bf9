import { dotted } from '../../../core/ip.ts';
import { isNodeName } from '../../../core/object-names.ts';
import { tableNamed } from '../../../database/tables.ts';
import { effectiveReader } from '../../../objects/effective.ts';
import { normalMac } from '../../dhcp/reservations.ts';
import type { BootEntry } from '../boot-entry.ts';
import type { BootOrder } from '../boot-order.ts';
import { grubRefusal } from '../grub-script.ts';
import { ipxeRefusal } from '../ipxe-script.ts';
import type { NodeIndex } from '../node-index.ts';
import type { NodeOrders } from '../node-orders.ts';
import { bootFiles, isBootMethod } from '../scripts.ts';
import { shownBootState } from '../states.ts';
import type { Asker } from './found.ts';
import type { BootRoom } from './room.ts';
import { relationOf, scriptOf } from './script-room.ts';

/** What a path of the reference system says of the node it is for. */
interface Wanted {
  /** As the files of the node are called. */
  readonly path: string;
  readonly node: string;
  readonly ip: string | undefined;
  readonly mac: string | undefined;
}

const resourceTable = tableNamed('noderes');
/** The directory of TFTP files, as it is called in URLs. */
const tftpDirectory = '/tftpboot';

/** Boot files of nodes where the reference system has them; each is made when somebody asks. Links are loaders, which others have. */
export const referenceRoom = (index: NodeIndex, orders: NodeOrders): BootRoom => ({
  async find(segments, asker) {
    const wanted = wantedFile(segments.join('/'), index);
    if (!wanted) return undefined;
    const { node, path } = wanted;
    const { snapshot } = index;
    const reader = effectiveReader(snapshot);
    if (!reader.nodeRow(node) || shownBootState(reader, node) === 'offline') return undefined;
    const method = reader.row(resourceTable, node)?.['netboot'] ?? '';
    if (!isBootMethod(method)) return undefined;
    const textOf = (order: BootOrder): string | undefined => {
      const file = bootFiles(method, entryOf(node, wanted, order, asker)).get(path);
      return file && 'text' in file ? file.text : undefined;
    };
    // Whether there is such a file does not depend on what is in it.
    if (textOf({ kind: 'local', state: 'boot' }) === undefined) return undefined;
    const refusal = method === 'xnba' ? ipxeRefusal : method.startsWith('grub2') ? grubRefusal : commentRefusal;
    return scriptOf(
      node,
      relationOf(index, node, asker),
      async () => {
        const order = await orders.of(node, asker);
        return { order, text: textOf(order)! };
      },
      refusal,
    );
  },
});

const commentRefusal = (reason: string): string => `# ${reason.replaceAll(/[^ -~]/g, '?')}\n`;

function entryOf(node: string, { ip, mac }: Wanted, order: BootOrder, asker: Asker): BootEntry {
  return {
    node,
    state: order.state,
    arch: order.kind === 'load' ? order.arch : '',
    ip,
    mac,
    server: asker.server,
    httpPort: asker.httpPort,
    tftpDirectory,
    load: order.kind === 'load' ? { ...order, efiStub: true } : undefined,
  };
}

function wantedFile(path: string, index: NodeIndex): Wanted | undefined {
  const parts = /^(xcat\/xnba\/nodes\/|boot\/grub2\/|petitboot\/|pxelinux\.cfg\/|)([^/]+)$/.exec(path);
  const [, directory = '', name = ''] = parts ?? [];
  const plain = directory === 'boot/grub2/' ? name.replace(/^grub\.cfg-/, '') : name;
  const ip = /^[0-9A-F]{8}$/.test(plain) ? dotted(Number.parseInt(plain, 16)) : undefined;
  const mac = normalMac(/^01-(.+)$/.exec(plain)?.[1] ?? '');
  const node =
    ip !== undefined
      ? index.byAddress(ip)
      : mac !== undefined
        ? index.byMac(mac)
        : plain.replace(/\.(uefi|elilo)$/, '');
  if (node === undefined || !isNodeName(node) || (directory === '' && ip === undefined)) return undefined;
  // Under the address there is a link, and PXELINUX asks under the MAC address first.
  return { path: directory === 'pxelinux.cfg/' ? directory + node : path, node, ip, mac };
}
