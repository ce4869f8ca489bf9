import type { BootOrder } from './boot-order.ts';
import { grubWords } from './script-formats.ts';
import { argumentsOf, checkWords, commentOf } from './script-words.ts';

/** From where GRUB loads: `(http,HOST:PORT)` or `(tftp,HOST)`. */
export type GrubDevice = `(${'http' | 'tftp'},${string})`;

/** What GRUB from the network reads first: it goes on with the script of its own card. */
export const grubStart = (device: GrubDevice): string =>
  text(['set timeout=0', `configfile ${device}/boot/$net_default_mac.grub`]);

/** The script of a machine with this MAC address. */
export function grubScript(name: string, mac: string, order: BootOrder, device: GrubDevice, server: string): string {
  const lines = [commentOf(order.state), 'set timeout=0'];
  if (order.kind === 'local') return text([...lines, ...fromDisk]);
  return text([...lines, ...loadLines(name, mac, order, device, server), ...failed]);
}

/**
 * Starts what firmware would start from a disk that it was told nothing of; without such a file, as on a BIOS, the firmware goes on. The
 * loader on the disk looks for its own files on `root`.
 */
const fromDisk = [
  'for file in /EFI/BOOT/BOOTX64.EFI /EFI/BOOT/BOOTAA64.EFI; do',
  'if search --no-floppy --file --set=root $file; then',
  'chainloader $file',
  'boot',
  'fi',
  'done',
  'exit',
];

function loadLines(
  name: string,
  mac: string,
  order: Extract<BootOrder, { kind: 'load' }>,
  device: GrubDevice,
  server: string,
): string[] {
  checkWords(name, [order.kernel, order.initrd, order.args, ...order.added]);
  const words = grubWords(argumentsOf(order, server));
  return [
    `linux ${device}/${order.kernel} ${words} BOOTIF=01-${mac.replaceAll(':', '-')}`,
    `initrd ${device}/${order.initrd}`,
    'boot',
  ];
}

/** What GRUB calls the processors it is made for; on a BIOS it is always the first. */
const processors: Readonly<Record<string, readonly string[]>> = { x86_64: ['i386', 'x86_64'], aarch64: ['arm64'] };

/** For a machine that nobody knows: what it is to boot on each architecture, since only it knows its own. */
export function grubUnknown(mac: string, orders: readonly BootOrder[], device: GrubDevice, server: string): string {
  const loads = orders.filter((order) => order.kind === 'load');
  const [first] = loads;
  if (!first) return text(['#unknown', ...fromDisk]);
  const choices = loads.flatMap((order) => [
    `if [ ${(processors[order.arch] ?? []).map((name) => `$grub_cpu = ${name}`).join(' -o ')} ]; then`,
    ...loadLines(mac, mac, order, device, server),
    ...failed,
    'fi',
  ]);
  return text([commentOf(first.state), 'set timeout=0', ...choices, 'exit']);
}

/** Says why there is nothing to boot; after a while the machine asks again. */
export const grubRefusal = (reason: string): string => text(['#refused', ...later(reason)]);

const later = (reason: string): string[] => [
  `echo 'muster: ${reason.replaceAll(/[^A-Za-z0-9 .,:;/_=()-]/g, '?').slice(0, 400)}'`,
  'sleep 30',
  'reboot',
];

const failed = later('the files of the image cannot be loaded');

const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`;
