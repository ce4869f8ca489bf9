import { Fault } from '../../core/errors.ts';
import { dotted } from '../../core/ip.ts';
import { normalMac } from '../../core/mac.ts';
import { isNodeName } from '../../core/object-names.ts';
import { tableNamed } from '../../database/tables.ts';
import { effectiveReader } from '../../objects/effective.ts';
import type { BootOrder, NodeOrders } from '../boot-order.ts';
import type { NodeIndex } from '../node-index.ts';
import {
  type GrubDevice,
  grubRefusal,
  grubScript,
  grubStart,
  grubUnknown,
  ipxeRefusal,
  ipxeScript,
  ipxeUnknown,
} from '../scripts/loaders.ts';
import { type BootEntry, bootFiles, isBootMethod } from '../scripts/reference.ts';
import { inAscii } from '../scripts/words.ts';
import { shownBootState } from '../states.ts';
import type { BootClient, BootRoute, Found } from './route.ts';

/** A loader's language. */
interface Language {
  /** `others` are servers with the same scripts, as they stand in URLs. */
  script(name: string, mac: string, order: BootOrder, client: BootClient, others: readonly string[]): string;
  unknown(mac: string, orders: readonly BootOrder[], client: BootClient): string;
  refusal(reason: string): string;
}

const languages: Readonly<Record<string, Language>> = {
  ipxe: {
    script: (name, _mac, order, { authority }, others) => ipxeScript(name, order, authority, others),
    unknown: (mac, orders, { authority }) => ipxeUnknown(mac, orders, authority),
    refusal: ipxeRefusal,
  },
  grub: {
    script: (name, mac, order, client) => grubScript(name, mac, order, grubDevice(client), client.server),
    unknown: (mac, orders, client) => grubUnknown(mac, orders, grubDevice(client), client.server),
    refusal: grubRefusal,
  },
};

/** Where GRUB looks for what it is to do; that of Debian's installer has a directory of its own. */
const grubStarts = /^(?:debian-installer\/(?:amd64|arm64)\/)?grub\/grub\.cfg$/;

/** The other servers that a node could boot from. */
type OtherServers = (node: string, client: BootClient) => readonly string[];

/** Scripts by the MAC address of the machine that asks: `boot/MAC.ipxe` and `boot/MAC.grub`, and what leads GRUB there. */
export const scriptRoute = (index: NodeIndex, orders: NodeOrders, others: OtherServers): BootRoute => ({
  async find(segments, client) {
    const path = segments.join('/');
    if (grubStarts.test(path)) return { kind: 'text', text: grubStart(grubDevice(client)), step: 'script' };
    const [, name = '', ending = ''] = /^boot\/([^/.]+)\.(ipxe|grub)$/.exec(path) ?? [];
    const mac = normalMac(name);
    const language = languages[ending];
    if (mac === undefined || !language) return undefined;
    const node = index.byMac(mac);
    if (node === undefined) {
      const text = language.unknown(mac, await orders.ofUnknown(mac, client), client);
      return { kind: 'text', text, step: 'script' };
    }
    return scriptOf(
      node,
      relationOf(index, node, client),
      async () => {
        const order = await orders.of(node, client);
        return { order, text: language.script(node, mac, order, client, others(node, client)) };
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

const relationOf = (index: NodeIndex, node: string, { address }: BootClient): Relation => ({
  isNode: index.byAddress(address) === node,
  mayBeNode: index.mayBe(node, address),
});

/**
 * A script of a node, or one that says why there is none. Whoever else looks at it must not change what is known of the node, and does
 * not learn why: the reason may name files of this machine.
 */
async function scriptOf(
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
      `${node}: ${isNode ? error.message : `It cannot boot now; GET /nodes/${node}/boot says why.`}`,
    );
    if (!mayBeNode) return { kind: 'text', text, foreignNode: node, step: 'script' };
    return { kind: 'text', text, node, step: 'script', leadsTo: 'failed', problem: error.message };
  }
}

/** GRUB goes on with the protocol that it has asked by: signed ones may have no other. */
const grubDevice = ({ protocol, server, authority }: BootClient): GrubDevice =>
  protocol === 'http' ? `(http,${authority})` : `(tftp,${server.includes(':') ? `[${server}]` : server})`;

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
export const referenceRoute = (index: NodeIndex, orders: NodeOrders): BootRoute => ({
  async find(segments, client) {
    const wanted = wantedFile(segments.join('/'), index);
    if (!wanted) return undefined;
    const { node, path } = wanted;
    const { snapshot } = index;
    const reader = effectiveReader(snapshot);
    if (!reader.nodeRow(node) || shownBootState(reader, node) === 'offline') return undefined;
    const method = reader.row(resourceTable, node)?.['netboot'] ?? '';
    if (!isBootMethod(method)) return undefined;
    const textOf = (order: BootOrder): string | undefined => {
      const file = bootFiles(method, entryOf(node, wanted, order, client)).get(path);
      return file && 'text' in file ? file.text : undefined;
    };
    // Whether there is such a file does not depend on what is in it.
    if (textOf({ kind: 'local', state: 'boot' }) === undefined) return undefined;
    const refusal = method === 'xnba' ? ipxeRefusal : method.startsWith('grub2') ? grubRefusal : commentRefusal;
    return scriptOf(
      node,
      relationOf(index, node, client),
      async () => {
        const order = await orders.of(node, client);
        return { order, text: textOf(order)! };
      },
      refusal,
    );
  },
});

const commentRefusal = (reason: string): string => `# ${inAscii(reason)}\n`;

function entryOf(node: string, { ip, mac }: Wanted, order: BootOrder, client: BootClient): BootEntry {
  return {
    node,
    state: order.state,
    arch: order.kind === 'load' ? order.arch : '',
    ip,
    mac,
    server: client.server,
    httpPort: client.httpPort,
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
