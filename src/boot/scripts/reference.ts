import { argumentsOf, checkWords, commentOf, grubWords, type KernelArguments } from './words.ts';

/** What a node is to boot, for its boot loader. */
export interface BootEntry {
  readonly node: string;
  /** As `chain.currstate` has it: the first comment of every script, by which people recognise it. */
  readonly state: string;
  readonly arch: string;
  readonly ip: string | undefined;
  readonly mac: string | undefined;
  /** The address of this server as the node sees it, and the port of its files. */
  readonly server: string;
  readonly httpPort: number;
  /** The directory of TFTP files, as it is called in URLs. */
  readonly tftpDirectory: string;
  /** Absent: the node boots from its disk. */
  readonly load: Load | undefined;
}

export interface Load extends KernelArguments {
  /** Below the TFTP directory, without a slash before. */
  readonly kernel: string;
  readonly initrd: string;
  /** Firmware can start the kernel itself. */
  readonly efiStub: boolean;
}

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

/** An address as eight hexadecimal digits, as boot loaders ask for it; undefined: it is no IPv4 address. */
export function ipv4Number(address: string): string | undefined {
  const parts = address.split('.').map(Number);
  if (parts.length !== 4 || parts.some((part) => !Number.isInteger(part) || part < 0 || part > 255)) return undefined;
  return parts.map((part) => part.toString(16).padStart(2, '0').toUpperCase()).join('');
}

/** iPXE takes the first line for its own. */
function ipxe({ state, tftpDirectory, httpPort, load }: BootEntry, firmware: 'bios' | 'uefi'): string {
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
function elilo({ tftpDirectory, load }: BootEntry): string {
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

function grub({ state, arch, server, tftpDirectory, load }: BootEntry, protocol: 'http' | 'tftp'): string {
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

function petitboot({ state, server, httpPort, tftpDirectory, load }: BootEntry): string {
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

function pxelinux({ state, server, load }: BootEntry): string {
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
