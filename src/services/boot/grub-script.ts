import type { BootOrder } from './boot-order.ts';
import { grubWords } from './script-formats.ts';
import { argumentsOf, checkWords } from './script-words.ts';

/** From where GRUB loads: `(http,HOST:PORT)` or `(tftp,HOST)`. */
export type GrubDevice = `(${'http' | 'tftp'},${string})`;

/** What GRUB from the network reads first: it goes on with the script of its own card. */
export const grubStart = (device: GrubDevice): string =>
  text(['set timeout=0', `configfile ${device}/boot/$net_default_mac.grub`]);

/** The script of a machine with this MAC address. */
export function grubScript(name: string, mac: string, order: BootOrder, device: GrubDevice, server: string): string {
  const lines = [`#${order.state}`, 'set timeout=0'];
  if (order.kind === 'local') return text([...lines, 'exit']);
  checkWords(name, [order.kernel, order.initrd, order.args, ...order.added]);
  const words = grubWords(argumentsOf(order, server));
  return text([
    ...lines,
    `linux ${device}/${order.kernel} ${words} BOOTIF=01-${mac.replaceAll(':', '-')}`,
    `initrd ${device}/${order.initrd}`,
    'boot',
    ...later('the files of the image cannot be loaded'),
  ]);
}

/** For a machine that nobody knows. */
export const grubUnknown = (): string => text(['#unknown', 'exit']);

/** Says why there is nothing to boot; after a while the machine asks again. */
export const grubRefusal = (reason: string): string => text(['#refused', ...later(reason)]);

const later = (reason: string): string[] => [
  `echo 'muster: ${reason.replaceAll(/[^A-Za-z0-9 .,:;/_=()-]/g, '?').slice(0, 400)}'`,
  'sleep 30',
  'reboot',
];

const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`;
