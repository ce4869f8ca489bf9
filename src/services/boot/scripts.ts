import type { BootEntry } from './boot-entry.ts';
import { ipv4Number } from './ipv4-number.ts';
import { elilo, grub, ipxe, petitboot, pxelinux } from './script-formats.ts';
import { checkWords } from './script-words.ts';

/** Scripts by their paths below the TFTP directory; a link is the name of what it leads to. */
export type BootFiles = ReadonlyMap<string, { readonly text: string } | { readonly link: string }>;

/** How nodes boot, as `netboot` calls it. */
export const bootMethods = ['xnba', 'grub2', 'grub2-http', 'grub2-tftp', 'petitboot', 'pxe'] as const;
export type BootMethod = (typeof bootMethods)[number];

export const isBootMethod = (text: string): text is BootMethod => (bootMethods as readonly string[]).includes(text);

/** All files of a node that a boot loader may ask for, where the reference system has them. */
export function bootFiles(method: BootMethod, entry: BootEntry): BootFiles {
  const { load, node } = entry;
  if (load) checkWords(node, [load.kernel, load.initrd, load.args, ...load.added]);
  if (method === 'xnba') return xnbaFiles(entry);
  if (method === 'petitboot') return withAddress(`petitboot/${entry.node}`, petitboot(entry), entry, '');
  if (method === 'pxe') return pxeFiles(entry);
  return grubFiles(method, entry);
}

function xnbaFiles(entry: BootEntry): BootFiles {
  const path = `xcat/xnba/nodes/${entry.node}`;
  const files = new Map([[path, { text: ipxe(entry, 'bios') }]]);
  if (!entry.load || entry.load.efiStub) files.set(`${path}.uefi`, { text: ipxe(entry, 'uefi') });
  else {
    const loader = `chain http://\${next-server}${entry.tftpDirectory}/xcat/elilo-x64.efi -C ${entry.tftpDirectory}/${path}.elilo`;
    files.set(`${path}.uefi`, { text: `#!gpxe\n${loader}\n` });
    files.set(`${path}.elilo`, { text: elilo(entry) });
  }
  return files;
}

function grubFiles(method: BootMethod, entry: BootEntry): BootFiles {
  const protocol = method === 'grub2-http' ? 'http' : 'tftp';
  const files = new Map(withAddress(`boot/grub2/${entry.node}`, grub(entry, protocol), entry, 'boot/grub2/grub.cfg-'));
  const text = grub(entry, protocol);
  if (entry.mac) files.set(`boot/grub2/grub.cfg-01-${entry.mac.toLowerCase().replaceAll(':', '-')}`, { text });
  if (entry.load) files.set(`boot/grub2/grub2-${entry.node}`, { link: `grub2.${grubArchitecture(entry.arch)}` });
  return files;
}

/** Its names of architectures: all Power machines share one loader. */
const grubArchitecture = (arch: string): string => (arch.startsWith('ppc') ? 'ppc' : arch);

function pxeFiles(entry: BootEntry): BootFiles {
  const files = new Map<string, { text: string } | { link: string }>();
  files.set(`pxelinux.cfg/${entry.node}`, { text: pxelinux(entry) });
  const number = entry.ip && ipv4Number(entry.ip);
  if (number) files.set(`pxelinux.cfg/${number}`, { link: entry.node });
  return files;
}

/** The same text under the node's name and under the number of its address. */
function withAddress(path: string, text: string, { ip }: BootEntry, before: string): BootFiles {
  const number = ip && ipv4Number(ip);
  return new Map([[path, { text }], ...(number ? [[`${before}${number}`, { text }] as const] : [])]);
}
