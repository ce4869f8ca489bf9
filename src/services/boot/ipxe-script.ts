import type { BootOrder } from './boot-order.ts';
import { argumentsOf, checkWords, commentOf } from './script-words.ts';

/**
 * As iPXE is told that it is to boot from the disk. On UEFI old ones hang when they leave the machine to its firmware, so GRUB from the
 * network starts what is on the disk; where it is missing, only a failure makes the firmware go on to its next entry.
 */
const leave = [
  'iseq ${platform} efi && goto uefi ||',
  'exit 0',
  ':uefi',
  // Of another architecture it is not started.
  'chain --autofree tftp://${next-server}/grubx64.efi || chain --autofree tftp://${next-server}/grubaa64.efi || exit 1',
];

/** The script that iPXE fetches under the MAC address of a machine. */
export function ipxeScript(node: string, order: BootOrder, authority: string): string {
  const lines = ['#!ipxe', commentOf(order.state)];
  if (order.kind === 'local') return text([...lines, ...leave]);
  return text([...lines, ...loadLines(node, order, authority), ...failed]);
}

function loadLines(node: string, order: Extract<BootOrder, { kind: 'load' }>, authority: string): string[] {
  checkWords(node, [order.kernel, order.initrd, order.args, ...order.added]);
  const words = argumentsOf(order, authority);
  return [
    `kernel --name kernel http://${authority}/${order.kernel} initrd=initrd ${words} BOOTIF=01-\${netX/mac:hexhyp} || goto failed`,
    `initrd --name initrd http://${authority}/${order.initrd} || goto failed`,
    'boot || goto failed',
  ];
}

/** What iPXE calls the architectures it is made for; on a BIOS it is always the first. */
const builds = { i386: 'x86_64', x86_64: 'x86_64', arm64: 'aarch64' } as const;

/** For a machine that nobody knows: what it is to boot on each architecture, since only it knows its own. */
export function ipxeUnknown(mac: string, orders: readonly BootOrder[], authority: string): string {
  const loads = orders.filter((order) => order.kind === 'load');
  const [first] = loads;
  if (!first) return text(['#!ipxe', '#unknown', ...leave]);
  const choices = Object.entries(builds).filter(([, arch]) => loads.some((order) => order.arch === arch));
  return text([
    '#!ipxe',
    commentOf(first.state),
    ...choices.map(([build, arch]) => `iseq \${buildarch} ${build} && goto ${arch} ||`),
    ...leave,
    ...loads.flatMap((order) => [`:${order.arch}`, ...loadLines(mac, order, authority)]),
    ...failed,
  ]);
}

/** Says why there is nothing to boot; after a while the machine asks again. */
export const ipxeRefusal = (reason: string): string => text(['#!ipxe', '#refused', ...later(reason)]);

const later = (reason: string): string[] => [`echo muster: ${plain(reason)}`, 'sleep 30', 'reboot'];

/** Nothing of iPXE's language: neither variables nor operators, comments or quotation marks. */
const plain = (reason: string): string => reason.replaceAll(/[^A-Za-z0-9 .,:;/_=()-]/g, '?').slice(0, 400);

const failed = [':failed', ...later('the files of the image cannot be loaded')];

const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`;
