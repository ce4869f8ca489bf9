// What files of tests need besides Node: one row for each thing. A file needs what its path or its imports from test/ match; the first row is
// its group. What a machine lacks costs the files of that row and no others. All of them need root too: namespaces, users, ports below 1024.

export interface Need {
  readonly name: string;
  /** For the line that says what was left out. */
  readonly what: string;
  /** Paths of files that need it, and of what they import from test/. */
  readonly by: RegExp;
  /** Names in scripts/packages.ts. */
  readonly packages: readonly string[];
  /** Files that start nothing by themselves need it too: what they test does. */
  readonly pureToo?: true;
  /** The files belong to `npm run test:machines`. */
  readonly machines?: true;
}

export const needs: readonly Need[] = [
  {
    name: 'packaging',
    what: 'packages of muster, installed under systemd',
    by: /^test\/packaging\/|\/lab\/(systemd|container)\.ts/,
    packages: ['lintian', 'rpm', 'skopeo', 'umoci'],
    machines: true,
  },
  {
    name: 'machines',
    what: 'emulated machines that boot',
    by: /\/lab\/(vm\.ts|boot-server\.ts|netboot\/(?!door))|^test\/boot\/(debian-installer|whole-installation|ipv6-firmware|ramdisk\/tools)|^test\/docs\/(machines|boot)\.test|^test\/names\/dhcp\/firmware\.test/,
    packages: [
      'busybox-static',
      'debian-installer-12-netboot-amd64',
      'debian-installer-12-netboot-arm64',
      'dropbear-bin',
      'fdisk',
      'grub-efi-amd64-signed',
      'grub-efi-arm64-signed',
      'ipxe',
      'ipxe-qemu',
      'lldpd',
      'mtools',
      'nfs-ganesha-vfs',
      'ovmf',
      'qemu-efi-aarch64',
      'qemu-system-arm',
      'qemu-system-x86',
      'qemu-utils',
      'radvd',
      'shim-signed',
      'squashfs-tools',
      'xorriso',
    ],
    machines: true,
  },
  {
    name: 'systems',
    what: 'operating systems that are built from packages',
    by: /^test\/images\/gen-|^test\/docs\/images\.test|\/lab\/(debian-mirror|gen-job)\.ts/,
    packages: ['mmdebstrap', 'busybox-static', 'cpio', 'createrepo-c', 'dnf', 'rpm', 'zypper', 'libcap2-bin'],
    machines: true,
  },
  {
    name: 'hypervisors',
    what: 'libvirt with small virtual machines',
    by: /\/lab\/libvirt(\.ts|\/)/,
    packages: [
      'gcc',
      'gcc-i686-linux-gnu',
      'libc6-dev',
      'libvirt-daemon-system',
      'libvirt-clients',
      'qemu-system-x86',
      'qemu-utils',
      'openssh-server',
    ],
  },
  {
    name: 'bus',
    what: 'NATS, between servers and workers',
    by: /\/lab\/(nats|hostile-nats)\.ts|^test\/bus\//,
    packages: ['nats-server', 'postgresql'],
  },
  {
    name: 'dhcp',
    what: 'Kea, and clients of DHCP',
    by: /\/lab\/(dhcp|kea-socket)[\w-]*\.ts|^test\/worker\/dhcp|^test\/names\/dhcp\//,
    packages: ['kea-dhcp4-server', 'kea-dhcp6-server', 'kea-admin', 'udhcpc', 'isc-dhcp-client', 'isc-dhcp-relay'],
  },
  {
    name: 'dns',
    what: 'BIND',
    by: /^test\/names\/dns\/|^test\/names\/(?!hosts|dhcp)|^test\/docs\/(names|first-cluster)\.test|^test\/worker\/named/,
    packages: ['bind9', 'bind9-utils', 'bind9-dnsutils'],
  },
  {
    name: 'postgresql',
    what: 'PostgreSQL',
    by: /\/lab\/postgres\.ts/,
    packages: ['postgresql'],
  },
  {
    name: 'browser',
    what: 'Chromium, which opens the web console',
    by: /^test\/web\/browser\.ts/,
    packages: ['chromium'],
  },
  {
    name: 'directories',
    what: 'OpenLDAP',
    by: /\/lab\/slapd\.ts/,
    packages: ['slapd', 'ldap-utils', 'openssl'],
  },
  {
    name: 'bmcs',
    what: 'simulated BMCs (ipmi_sim), and other clients of IPMI',
    by: /\/lab\/(bmc|tools|cluster)(\.ts|\/)|^test\/scripts\/lab|^test\/protocols\/ipmi\/pyghmi/,
    packages: [
      'gcc',
      'libc6-dev',
      'libopenipmi-dev',
      'libssl-dev',
      'openipmi',
      'ipmitool',
      'freeipmi-tools',
      'python3-pyghmi',
    ],
  },
  {
    name: 'ssh',
    what: 'sshd, as nodes to run commands on',
    by: /\/lab\/(ssh|roots|ssh-consoles)(\.ts|\/)/,
    packages: ['openssh-server', 'openssh-client', 'tar'],
  },
  {
    name: 'snmp',
    what: 'agents of SNMP',
    by: /\/lab\/(snmp|pdus)(\.ts|\/)/,
    packages: ['snmp', 'snmpd', 'snmpsim'],
  },
  {
    name: 'containers',
    what: 'a registry and tools for container images',
    by: /\/lab\/oci\/registry/,
    packages: ['docker-registry', 'skopeo', 'umoci', 'openssl', 'attr'],
  },
  {
    name: 'images',
    what: 'tools for images and install media',
    by: /^test\/images\/|\/lab\/(media\/|oci\/|rpm-packages)|^test\/cli\/(kits|lskmodules|image)|^test\/rest\/image-/,
    packages: [
      'attr',
      'cpio',
      'createrepo-c',
      'dnf',
      'fdisk',
      'isomd5sum',
      'kmod',
      'libarchive-tools',
      'libcap2-bin',
      'rpm',
      'squashfs-tools',
      'xorriso',
      'zypper',
    ],
  },
  {
    name: 'boot',
    what: 'clients and peers of TFTP and HTTP for booting nodes',
    by: /^test\/boot\/|^test\/protocols\/tftp\//,
    packages: [
      'atftp',
      'jing',
      'python3-aiohttp',
      'python3-bson',
      'python3-more-itertools',
      'python3-passlib',
      'python3-pyroute2',
      'python3-pyudev',
      'python3-requests-unixsocket',
      'python3-systemd',
      'python3-urwid',
      'tftp-hpa',
      'tftpd-hpa',
      'nginx-light',
      'busybox-static',
      'cloud-init',
      'libxml2-utils',
      'xorriso',
    ],
  },
  {
    name: 'duties',
    what: 'programs that service nodes run',
    by: /^test\/worker\//,
    packages: ['rsyslog', 'iproute2'],
  },
  {
    name: 'integrations',
    what: 'shells and tools that call the command line or read what it writes',
    by: /^test\/cli\/(integrations|completion|manpages)|^test\/docs\/english/,
    packages: [
      'ansible-core',
      'clustershell',
      'fish',
      'genders',
      'groff-base',
      'hunspell',
      'hunspell-en-us',
      'slurm-client',
      'slurmctld',
      'zsh',
    ],
  },
  {
    name: 'monitoring',
    what: 'Prometheus, fping, strace',
    by: /^test\/events\/metrics|^test\/protocols\/probe|^test\/rest\/nodestat|strace|^test\/database\/sync/,
    packages: ['prometheus', 'fping', 'strace'],
  },
  {
    name: 'tools',
    what: 'curl, openssl and sqlite3',
    by: /^test\/docs\/|^test\/rest\/example-programs|certificate|^test\/accounts\//,
    packages: ['curl', 'openssl', 'sqlite3', 'iproute2', 'tar'],
  },
  {
    name: 'namespaces',
    what: 'long work in namespaces of its own',
    by: /^test\/work\/(long-work|program|stagings)/,
    packages: [],
    pureToo: true,
  },
  {
    name: 'root',
    what: 'servers and commands that root runs',
    by: /^test\/(admin|cli|consoles|docs|hardware|nodes|process|remote)\/|^test\/(first-start|lab\/netns\.test|protocols\/slp|drivers\/redfish\/discovery|rest\/(lenient|plain-http|process)\.|scripts\/(packages|test-runner))/,
    packages: ['iproute2'],
  },
];

/** Groups of files that need nothing: `servers` start processes, `pure` do not. */
export const groupNames: readonly string[] = [...needs.map(({ name }) => name), 'servers', 'pure'];
