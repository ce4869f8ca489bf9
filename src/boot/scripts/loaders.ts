import { inQuotes } from '../../core/shell-words.ts';
import type { BootOrder } from '../boot-order.ts';
import { argumentsOf, checkWords, commentOf, grubWords, inAscii } from './words.ts';

/**
 * Makes iPXE boot from the disk. On UEFI old ones hang when they leave the machine to its firmware, so GRUB from the
 * network starts what is on the disk; where it is missing, only a failure makes the firmware go on to its next entry.
 */
const leaveIpxe = [
  'iseq ${platform} efi && goto uefi ||',
  'exit 0',
  ':uefi',
  // Of another architecture it is not started.
  'chain --autofree tftp://${next-server}/grubx64.efi || chain --autofree tftp://${next-server}/grubaa64.efi || exit 1',
];

/** The script that iPXE fetches under the MAC address of a machine; `others` have the same script, and are tried if this one fails. */
export function ipxeScript(node: string, order: BootOrder, authority: string, others: readonly string[] = []): string {
  const lines = ['#!ipxe', commentOf(order.state)];
  if (order.kind === 'local') return text([...lines, ...leaveIpxe]);
  return text([...lines, ...ipxeLoad(node, order, authority), ':failed', ...ipxeElsewhere(others), ...ipxeGivenUp]);
}

/** Once in a boot: the script of another server does not lead back here. */
const ipxeElsewhere = (others: readonly string[]): string[] =>
  others.length === 0
    ? []
    : [
        'isset ${muster-elsewhere} && goto later ||',
        'set muster-elsewhere 1',
        // What was loaded before would be loaded twice.
        'imgfree',
        ...others.map((other) => `chain http://${other}/boot/\${netX/mac:hexhyp}.ipxe ||`),
        ':later',
      ];

function ipxeLoad(node: string, order: Extract<BootOrder, { kind: 'load' }>, authority: string): string[] {
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
  if (!first) return text(['#!ipxe', '#unknown', ...leaveIpxe]);
  const choices = Object.entries(builds).filter(([, arch]) => loads.some((order) => order.arch === arch));
  return text([
    '#!ipxe',
    commentOf(first.state),
    ...choices.map(([build, arch]) => `iseq \${buildarch} ${build} && goto ${arch} ||`),
    ...leaveIpxe,
    ...loads.flatMap((order) => [`:${order.arch}`, ...ipxeLoad(mac, order, authority)]),
    ':failed',
    ...ipxeGivenUp,
  ]);
}

/** Says why there is nothing to boot; after a while the machine asks again. */
export const ipxeRefusal = (reason: string): string => text(['#!ipxe', '#refused', ...ipxeLater(reason)]);

const ipxeLater = (reason: string): string[] => [`echo muster: ${forIpxe(reason)}`, 'sleep 30', 'reboot'];

/** What fits a screen. iPXE takes quotation marks as they are, but not variables, and neither operators nor comments where words begin. */
const forScreen = (reason: string): string => inAscii(reason).slice(0, 400);
const forIpxe = (reason: string): string =>
  forScreen(reason)
    .replaceAll(/[$\\|&`]/g, '?')
    .replaceAll(/(^| )[#;]/g, '$1?');

const ipxeGivenUp = ipxeLater('the files of the image cannot be loaded');

const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`;

/** From where GRUB loads: `(http,HOST:PORT)` or `(tftp,HOST)`. */
export type GrubDevice = `(${'http' | 'tftp'},${string})`;

/** What GRUB from the network reads first: it goes on with the script of its own card. */
export const grubStart = (device: GrubDevice): string =>
  text(['set timeout=0', `configfile ${device}/boot/$net_default_mac.grub`]);

/** The script of a machine with this MAC address. */
export function grubScript(name: string, mac: string, order: BootOrder, device: GrubDevice, server: string): string {
  const lines = [commentOf(order.state), 'set timeout=0'];
  if (order.kind === 'local') return text([...lines, ...fromDisk]);
  return text([...lines, ...grubLoad(name, mac, order, device, server), ...grubFailed]);
}

/**
 * Starts what firmware would start from a disk without an entry of its own; without such a file, as on a BIOS, the firmware goes on. The
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

function grubLoad(
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
    ...grubLoad(mac, mac, order, device, server),
    ...grubFailed,
    'fi',
  ]);
  return text([commentOf(first.state), 'set timeout=0', ...choices, 'exit']);
}

/** Says why there is nothing to boot; after a while the machine asks again. */
export const grubRefusal = (reason: string): string => text(['#refused', ...grubLater(reason)]);

const grubLater = (reason: string): string[] => [
  `echo ${inQuotes(`muster: ${forScreen(reason)}`)}`,
  'sleep 30',
  'reboot',
];

export const grubFailed = grubLater('the files of the image cannot be loaded');
