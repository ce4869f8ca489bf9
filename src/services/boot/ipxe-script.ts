import type { BootOrder } from './boot-order.ts';
import { argumentsOf, checkWords } from './script-words.ts';

/** As iPXE is told that it is to boot from the disk: on UEFI only a failure makes the firmware go on to the next entry. */
const leave = ['iseq ${platform} efi && goto uefi ||', 'exit 0', ':uefi', 'exit 1'];

/** The script that iPXE fetches under the MAC address of a machine. */
export function ipxeScript(node: string, order: BootOrder, authority: string): string {
  const lines = ['#!ipxe', `#${order.state}`];
  if (order.kind === 'local') return text([...lines, ...leave]);
  checkWords(node, [order.kernel, order.initrd, order.args, ...order.added]);
  const words = argumentsOf(order, authority);
  return text([
    ...lines,
    `kernel --name kernel http://${authority}/${order.kernel} initrd=initrd ${words} BOOTIF=01-\${netX/mac:hexhyp} || goto failed`,
    `initrd --name initrd http://${authority}/${order.initrd} || goto failed`,
    'boot || goto failed',
    ':failed',
    ...later('the files of the image cannot be loaded'),
  ]);
}

/** For a machine that nobody knows. */
export const ipxeUnknown = (): string => text(['#!ipxe', '#unknown', ...leave]);

/** Says why there is nothing to boot; after a while the machine asks again. */
export const ipxeRefusal = (reason: string): string => text(['#!ipxe', '#refused', ...later(reason)]);

const later = (reason: string): string[] => [`echo muster: ${plain(reason)}`, 'sleep 30', 'reboot'];

/** Nothing of iPXE's language: neither variables nor operators, comments or quotation marks. */
const plain = (reason: string): string => reason.replaceAll(/[^A-Za-z0-9 .,:;/_=()-]/g, '?').slice(0, 400);

const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`;
