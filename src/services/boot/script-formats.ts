import { inQuotes } from '../../core/shell-words.ts';
import type { BootEntry } from './boot-entry.ts';
import { argumentsOf, commentOf } from './script-words.ts';

/** iPXE takes the first line for its own. */
export function ipxe({ state, tftpDirectory, httpPort, load }: BootEntry, firmware: 'bios' | 'uefi'): string {
  const lines = ['#!gpxe', commentOf(state)];
  if (!load) return text([...lines, 'exit']);
  const port = httpPort === 80 ? '' : `:${httpPort}`;
  const file = (path: string): string => `http://\${next-server}${port}${tftpDirectory}/${path}`;
  const initrd = firmware === 'uefi' ? ' initrd=initrd' : '';
  return text([
    ...lines,
    `imgfetch -n kernel ${file(load.kernel)}`,
    'imgload kernel',
    `imgargs kernel ${argumentsOf(load, '${next-server}')}  BOOTIF=01-\${netX/mac:hexhyp}${initrd}`,
    `imgfetch -n initrd ${file(load.initrd)}`,
    'imgexec kernel',
  ]);
}

/** For kernels that firmware cannot start itself. */
export function elilo({ tftpDirectory, load }: BootEntry): string {
  return text([
    'default="xCAT"',
    'delay=0',
    '',
    `image=${tftpDirectory}/${load!.kernel}`,
    '   label="xCAT"',
    `   initrd=${tftpDirectory}/${load!.initrd}`,
    `   append="${argumentsOf(load!, '%N')}  BOOTIF=%B"`,
  ]);
}

const entryName = 'xCAT OS Deployment';

export function grub({ state, arch, server, tftpDirectory, load }: BootEntry, protocol: 'http' | 'tftp'): string {
  const lines = [commentOf(state), 'set timeout=5'];
  if (!load) return text(lines);
  const efi = arch === 'x86_64' ? 'efi' : '';
  // TFTP paths begin in its directory, those of HTTP in the server's root.
  const before = protocol === 'tftp' ? '' : tftpDirectory;
  return [
    ...lines,
    `set default="${entryName}"`,
    `menuentry "${entryName}" {`,
    '    insmod http',
    '    insmod tftp',
    `    set root=${protocol},${server}`,
    '    echo Loading Install kernel ...',
    `    linux${efi} ${before}/${load.kernel} ${grubWords(argumentsOf(load, server))}  BOOTIF=$net_default_mac`,
    '    echo Loading initial ramdisk ...',
    `    initrd${efi} ${before}/${load.initrd}`,
    '}',
  ].join('\n');
}

/** A word that GRUB's language would read as something else stands in single quotes. */
export const grubWords = (words: string): string => words.replaceAll(/\S*[$\\'{}|&;<>*?~#]\S*/g, inQuotes);

export function petitboot({ state, server, httpPort, tftpDirectory, load }: BootEntry): string {
  if (!load) return text([commentOf(state)]);
  const file = (path: string): string => `http://${server}:${httpPort}${tftpDirectory}/${path}`;
  return text([
    commentOf(state),
    'default xCAT',
    'label xCAT',
    `\tkernel ${file(load.kernel)}`,
    `\tinitrd ${file(load.initrd)}`,
    `\tappend "${argumentsOf(load, server, true)}"`,
  ]);
}

export function pxelinux({ state, server, load }: BootEntry): string {
  const lines = [commentOf(state), 'DEFAULT xCAT', 'LABEL xCAT'];
  if (!load) return text([...lines, 'LOCALBOOT 0']);
  return text([
    ...lines,
    ` KERNEL ${load.kernel}`,
    ` APPEND initrd=${load.initrd} ${argumentsOf(load, server)} `,
    '  IPAPPEND 2',
  ]);
}

const text = (lines: readonly string[]): string => `${lines.join('\n')}\n`;
