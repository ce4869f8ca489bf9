// Debian packages that tests and labs call, and their installation.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

export interface DebianPackage {
  readonly name: string;
  /** The program, or the absolute path of a file, by which it is known to be there. */
  readonly program: string;
  readonly why: string;
  /** What needs it says so and goes on without it. */
  readonly optional?: boolean;
}

/** What several servers and workers need. */
export const severalPackages: readonly DebianPackage[] = [
  { name: 'nats-server', program: 'nats-server', why: 'the bus between servers and workers' },
  {
    name: 'postgresql',
    program: '/usr/lib/postgresql',
    why: "the database of several servers, and of Kea's reservations",
  },
];

/** The simulated BMCs of test/lab. */
export const labPackages: readonly DebianPackage[] = [
  { name: 'gcc', program: 'gcc', why: 'compiles what ipmi_sim lacks' },
  { name: 'libc6-dev', program: '/usr/include/stdio.h', why: 'compiles what ipmi_sim lacks' },
  { name: 'libopenipmi-dev', program: '/usr/include/OpenIPMI/mcserv.h', why: 'compiles what ipmi_sim lacks' },
  { name: 'libssl-dev', program: '/usr/include/openssl/hmac.h', why: 'compiles what ipmi_sim lacks' },
  { name: 'openipmi', program: 'ipmi_sim', why: 'simulates BMCs' },
];

/** Machines that boot from the network: firmware and loaders, of the architecture of this machine. */
const bootPackages: readonly DebianPackage[] = (
  process.arch === 'arm64'
    ? [
        { name: 'qemu-system-arm', program: 'qemu-system-aarch64', why: 'machines that boot from the network' },
        { name: 'qemu-efi-aarch64', program: '/usr/share/AAVMF/AAVMF_CODE.fd', why: 'machines with UEFI' },
        { name: 'shim-signed', program: '/usr/lib/shim/shimaa64.efi.signed', why: 'starts GRUB under Secure Boot' },
        {
          name: 'grub-efi-arm64-signed',
          program: '/usr/lib/grub/arm64-efi-signed/grubnetaa64.efi.signed',
          why: 'boots machines under Secure Boot',
        },
      ]
    : [
        { name: 'qemu-system-arm', program: 'qemu-system-aarch64', why: 'machines of another architecture' },
        { name: 'qemu-efi-aarch64', program: '/usr/share/AAVMF/AAVMF_CODE.fd', why: 'firmware of such machines' },
        {
          name: 'debian-installer-12-netboot-arm64',
          program: '/usr/lib/debian-installer/images/12/arm64/text/debian-installer/arm64/grubaa64.efi',
          why: 'boots machines of another architecture',
        },
        { name: 'ipxe', program: '/usr/lib/ipxe/ipxe.efi', why: 'boots machines from the network' },
        { name: 'shim-signed', program: '/usr/lib/shim/shimx64.efi.signed', why: 'starts GRUB under Secure Boot' },
        {
          name: 'grub-efi-amd64-signed',
          program: '/usr/lib/grub/x86_64-efi-signed/grubnetx64.efi.signed',
          why: 'boots machines under Secure Boot',
        },
      ]
).map((each) => ({ ...each, optional: true }));

export const testPackages: readonly DebianPackage[] = [
  { name: 'ansible-core', program: 'ansible-inventory', why: 'reads the inventory of the command line' },
  { name: 'atftp', program: 'atftp', why: 'fetches files by TFTP with windows' },
  { name: 'attr', program: 'getfattr', why: 'a second opinion on extended attributes in images' },
  { name: 'bind9', program: 'named', why: 'the name server that muster sets up' },
  { name: 'bind9-dnsutils', program: 'nsupdate', why: 'a second opinion on names in DNS' },
  { name: 'bind9-utils', program: 'named-checkzone', why: 'checks zones before they are served' },
  {
    name: 'busybox-static',
    program: '/usr/share/doc/busybox-static',
    why: 'the programs of initial RAM disks, and a client of TFTP',
  },
  { name: 'chromium', program: 'chromium', why: 'opens the web console' },
  { name: 'cloud-init', program: 'cloud-init', why: 'checks answers for the installer of Ubuntu' },
  { name: 'clustershell', program: 'nodeset', why: 'asks the command line for groups' },
  { name: 'cpio', program: 'cpio', why: 'a second opinion on archives' },
  { name: 'createrepo-c', program: 'createrepo_c', why: 'repositories of packages for dnf and zypper' },
  { name: 'curl', program: 'curl', why: 'talks to the server as a client of another make' },
  {
    name: 'debian-installer-12-netboot-amd64',
    program: '/usr/lib/debian-installer/images/12/amd64/text/debian-installer/amd64/linux',
    why: 'an installer that reads our answers',
  },
  { name: 'dnf', program: 'dnf', why: 'installs packages on nodes' },
  { name: 'docker-registry', program: 'docker-registry', why: 'a registry to pull container images from' },
  { name: 'dropbear-bin', program: 'dropbear', why: 'an SSH server in initial RAM disks' },
  { name: 'fdisk', program: 'sfdisk', why: 'divides the disks of machines' },
  { name: 'fish', program: 'fish', why: 'completes commands' },
  { name: 'fping', program: 'fping', why: 'asks nodes for signs of life' },
  { name: 'freeipmi-tools', program: 'ipmipower', why: 'a second opinion on BMCs' },
  { name: 'genders', program: 'nodeattr', why: 'reads the genders of the command line' },
  { name: 'groff-base', program: 'groff', why: 'reads the pages of the manual' },
  { name: 'hunspell', program: 'hunspell', why: 'checks the spelling of the manual' },
  {
    name: 'hunspell-en-us',
    program: '/usr/share/hunspell/en_US.dic',
    why: 'the English words of the manual',
  },
  { name: 'iproute2', program: 'ip', why: 'networks of their own for tests' },
  { name: 'ipmitool', program: 'ipmitool', why: 'a second opinion on BMCs' },
  { name: 'isc-dhcp-client', program: 'dhclient', why: 'asks for addresses by DHCPv6' },
  { name: 'isc-dhcp-relay', program: 'dhcrelay', why: 'passes requests of nodes on to the DHCP server' },
  {
    name: 'isomd5sum',
    program: 'implantisomd5',
    why: 'puts the checksums into install media that their makers put there',
  },
  { name: 'kea-admin', program: 'kea-admin', why: "makes Kea's tables in PostgreSQL" },
  { name: 'kea-dhcp4-server', program: 'kea-dhcp4', why: 'the DHCP server that muster sets up' },
  { name: 'kea-dhcp6-server', program: 'kea-dhcp6', why: 'the DHCP server that muster sets up' },
  { name: 'kmod', program: 'depmod', why: 'lists what the drivers of an image need' },
  { name: 'ldap-utils', program: 'ldapmodify', why: 'changes what the directory of the tests has' },
  { name: 'libcap2-bin', program: 'getcap', why: 'shows the rights of files in images' },
  { name: 'libxml2-utils', program: 'xmllint', why: 'checks answers for AutoYaST' },
  { name: 'lldpd', program: 'lldpd', why: 'announces the ports of switches to machines' },
  { name: 'lintian', program: 'lintian', why: 'checks the packages of muster' },
  { name: 'mmdebstrap', program: 'mmdebstrap', why: 'builds Debian images' },
  { name: 'libarchive-tools', program: 'bsdtar', why: 'a second opinion on install media' },
  { name: 'libvirt-clients', program: 'virsh', why: 'a second opinion on virtual machines' },
  { name: 'libvirt-daemon-system', program: 'libvirtd', why: 'a hypervisor for virtual machines' },
  { name: 'mtools', program: 'mformat', why: 'fills the disks of machines with UEFI' },
  { name: 'nfs-ganesha-vfs', program: 'ganesha.nfsd', why: 'serves files to nodes that keep some of theirs' },
  { name: 'nginx-light', program: 'nginx', why: 'sends files to machines that boot' },
  { name: 'openssh-client', program: 'ssh', why: 'the other way to run commands on nodes' },
  { name: 'openssh-server', program: 'sshd', why: 'nodes to run commands on' },
  { name: 'openssl', program: 'openssl', why: 'a second opinion on our certificates and TLS versions' },
  {
    name: 'python3-pyghmi',
    program: '/usr/lib/python3/dist-packages/pyghmi',
    why: 'another BMC that speaks IPMI',
  },
  { name: 'prometheus', program: 'prometheus', why: 'scrapes what muster counts about itself' },
  { name: 'qemu-system-x86', program: 'qemu-system-x86_64', why: 'virtual machines, and machines to switch on' },
  { name: 'qemu-utils', program: 'qemu-img', why: 'disks of virtual machines' },
  { name: 'radvd', program: 'radvd', why: 'a router that announces an IPv6 network' },
  { name: 'rpm', program: 'rpmbuild', why: 'packages for dnf and zypper' },
  { name: 'rsyslog', program: 'rsyslogd', why: 'receives log messages of nodes' },
  { name: 'skopeo', program: 'skopeo', why: 'container images of another make, and copies of them' },
  { name: 'sqlite3', program: 'sqlite3', why: 'reads the database from outside' },
  { name: 'slapd', program: 'slapd', why: 'a directory with accounts' },
  { name: 'slurm-client', program: 'scontrol', why: 'shows what Slurm has read' },
  { name: 'slurmctld', program: 'slurmctld', why: 'reads the nodes of the command line' },
  { name: 'snmp', program: 'snmpget', why: 'a second opinion on SNMP' },
  { name: 'snmpd', program: 'snmpd', why: 'a switch that knows where machines are' },
  { name: 'snmpsim', program: 'snmpsimd', why: 'PDUs that speak SNMP' },
  { name: 'squashfs-tools', program: 'mksquashfs', why: 'packs images' },
  { name: 'strace', program: 'strace', why: 'shows that a write is synced before it is acknowledged' },
  { name: 'tar', program: 'tar', why: 'backup and restore' },
  { name: 'tftp-hpa', program: 'tftp', why: 'fetches files by TFTP' },
  { name: 'tftpd-hpa', program: 'in.tftpd', why: 'a second opinion on the speed of TFTP' },
  { name: 'udhcpc', program: 'udhcpc', why: 'asks for addresses by DHCP' },
  { name: 'umoci', program: 'umoci', why: 'container images of another make' },
  { name: 'xorriso', program: 'xorriso', why: 'makes install media' },
  { name: 'zsh', program: 'zsh', why: 'completes commands' },
  { name: 'zypper', program: 'zypper', why: 'installs packages on nodes' },
  ...labPackages,
  ...bootPackages,
  ...(process.arch === 'arm64'
    ? [{ name: 'gcc-i686-linux-gnu', program: 'i686-linux-gnu-gcc', why: 'compiles guests of virtual machines' }]
    : []),
  { name: 'ovmf', program: '/usr/share/ovmf/OVMF.fd', why: 'machines with UEFI' },
  ...severalPackages,
  { name: 'jing', program: 'jing', why: 'checks answers for AutoYaST by its schema', optional: true },
  ...'aiohttp bson more-itertools passlib pyroute2 pyudev requests-unixsocket systemd urwid'.split(' ').map((name) => ({
    name: `python3-${name}`,
    program: `/usr/share/doc/python3-${name}`,
    why: 'lets the installer of Ubuntu plan disks',
    optional: true,
  })),
  {
    name: 'ipxe-qemu',
    program: '/usr/lib/ipxe/qemu/pxe-virtio.rom',
    why: 'machines that boot from the network',
    optional: true,
  },
];

export function isInstalled(program: string): boolean {
  if (isAbsolute(program)) return existsSync(program);
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return directories.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Seconds. */
const lockTimeout = 600;

function apt(...args: string[]) {
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  // Somebody else who installs something just now is waited for.
  const wait = ['-o', `DPkg::Lock::Timeout=${lockTimeout}`];
  const [program = '', ...rest] = [
    ...asRoot,
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    '-qq',
    ...wait,
    ...args,
  ];
  return spawnSync(program, rest, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' });
}

/** Apt waits for the lock of packages, but not for that of their lists. */
function update(): void {
  for (const until = Date.now() + lockTimeout * 1_000; Date.now() < until; Atomics.wait(sleeper, 0, 0, 2_000)) {
    const { status, stderr } = apt('update');
    if (status === 0 || !/Could not get lock/.test(stderr)) return;
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Why nothing can be installed here; undefined if it can. */
function obstacle(): string | undefined {
  if (process.env['MUSTER_INSTALL'] === 'no') return 'MUSTER_INSTALL is no';
  if (!isInstalled('apt-get')) return 'there is no apt-get here';
  const may = process.getuid?.() === 0 || spawnSync('sudo', ['-n', 'true']).status === 0;
  return may ? undefined : 'that needs root, or sudo without a password';
}

/** At a terminal somebody is asked first. */
function agreed(): boolean {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true;
  process.stderr.write('muster: install them now? [Y/n] ');
  const answer = Buffer.alloc(80);
  return !/^\s*n/i.test(answer.toString('utf8', 0, readSync(0, answer)));
}

/** Those that dpkg has not set up to their end, or does not know. */
function notSetUp(packages: readonly DebianPackage[]): readonly DebianPackage[] {
  const query = ['-W', '-f', '${Package} ${db:Status-Abbrev}\n', ...packages.map(({ name }) => name)];
  const lines = spawnSync('dpkg-query', query, { encoding: 'utf8' }).stdout.split('\n');
  return packages.filter(({ name }) => !lines.some((line) => line.startsWith(`${name} ii`)));
}

/**
 * Installs those that are missing, and answers those that still are: one that cannot be installed costs no other. Optional ones are tried
 * apart, so that they cannot keep the others out.
 */
export function installMissing(wanted: readonly DebianPackage[], purpose: string): readonly DebianPackage[] {
  const missing = wanted.filter(({ program }) => !isInstalled(program));
  if (missing.length === 0) return [];
  const reasons = missing.map(({ name, why }) => `${name} (${why})`).join(', ');
  const reason = obstacle();
  if (reason !== undefined) {
    console.error(`muster: not installing for ${purpose}, as ${reason}: ${reasons}`);
    return missing;
  }
  console.error(`muster: installing for ${purpose} with apt-get (MUSTER_INSTALL=no prevents it): ${reasons}`);
  if (!agreed()) return missing;
  const attempt = (packages: readonly DebianPackage[]) =>
    apt('install', '-y', '--no-install-recommends', ...packages.map(({ name }) => name));
  const [must, may] = [missing.filter(({ optional }) => !optional), missing.filter(({ optional }) => optional)];
  const kinds = [must, may].filter(({ length }) => length > 0);
  if (kinds.every((packages) => attempt(packages).status === 0)) return [];
  update();
  const failed = kinds
    .filter((packages) => attempt(packages).status !== 0)
    .flatMap((packages) => notSetUp(packages))
    .filter((each) => {
      const { status, error, stderr } = attempt([each]);
      const isThere = notSetUp([each]).length === 0;
      if (!isThere)
        console.error(
          `muster: ${each.name} cannot be installed: ${error?.message ?? (stderr.trim() || `apt-get ended with ${status}`)}`,
        );
      return !isThere;
    });
  return failed;
}
