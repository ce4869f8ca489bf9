import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type TestServer } from '../../harness/server.ts';
import { labAccounts, labAddress } from '../addresses.ts';
import type { LabChild } from '../child.ts';
import { type LibvirtLab, startLibvirt } from '../libvirt.ts';
import { startVm, type Vm } from '../vm.ts';
import { machineMac } from '../vm/configuration.ts';
import { layoutPackages, placeBootImage } from './image.ts';
import { type BootHardware, bootHardware, type Firmware, machineArch, machineConsole } from './machine.ts';
import { bootNet, type BootNetwork, machineAddress, makeBootNetwork, startSilentRouter } from './network.ts';

/** A management node with machines that have nothing on their disks, in a network of their own. */
export interface BootWorld {
  readonly network: BootNetwork;
  readonly installdir: string;
  /** The muster of now; after a restart it is another. */
  server(): TestServer;
  machine(index: number): Vm;
  /** Where the virtual machines are to be, if there are any. */
  readonly hypervisor: LibvirtLab | undefined;
  /** Ends muster as if the power had failed, and starts it again. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

export interface WorldOptions {
  readonly machines: readonly BootHardware[];
  /** What nodes `v1` and so on are defined with besides; nobody has made their virtual machines yet. */
  readonly virtual?: readonly Readonly<Record<string, string>>[];
  readonly images?: readonly BootImage[];
  /** More lines of the configuration file. */
  readonly config?: string;
  /** The site's own loaders and RAM disks. */
  readonly bootDirectory?: string;
  /** Makes what the server needs before its first start, in its data directory; answers its environment. Without, it has none besides. */
  readonly prepare?: (data: string, network: BootNetwork) => Promise<Readonly<Record<string, string>>>;
  /** False: the server serves no boot files itself. */
  readonly listens?: boolean;
  /** How the definitions reach the server. */
  readonly send?: (server: TestServer, request: AdminRequest) => Promise<unknown>;
}

/** The same Debian, for nodes that have it in memory, for those that keep some of it, and for those that have it on a disk, or on two. */
const methods = { ram: 'netboot', lite: 'statelite', disk: 'sysclone', mirror: 'sysclone' } as const;
type BootImage = keyof typeof methods;
/** A root is fetched, hashed and written by emulated processors. `+` takes in again. */
const leftOut = [
  './boot/*',
  ...['doc', 'locale', 'man', 'perl', 'i18n', 'zoneinfo'].map((name) => `./usr/share/${name}/*`),
  ...['hwdb.bin', 'hwdb.d/*'].map((name) => `./usr/lib/udev/${name}`),
  './usr/lib/*/gconv/*',
  './usr/lib/*/perl*/*',
  './usr/lib/grub/*/monolithic/*',
  ...['arch', 'drivers', 'net', 'sound', 'fs/btrfs', 'fs/nfsd', 'fs/smb', 'fs/xfs'].map(
    (name) => `./usr/lib/modules/*/kernel/${name}/*`,
  ),
  ...['drivers/virtio', 'drivers/block', 'net/core', 'net/dns_resolver', 'net/sunrpc'].map(
    (name) => `+./usr/lib/modules/*/kernel/${name}/*`,
  ),
  ...['drivers/net/virtio_net.ko', 'drivers/net/net_failover.ko'].map((name) => `+./usr/lib/modules/*/kernel/${name}`),
  './var/cache/apt/*',
];

const keptForMirror = ['drivers/md', 'fs/xfs'].map((name) => `+./usr/lib/modules/*/kernel/${name}/*`);
const mirrorLayout = `mirror
partition 256MiB ext4 /boot
partition 64MiB swap
volume 1GiB ext4 /
volume rest xfs /srv
`;

const sendNow = (server: TestServer, { method, path, body }: AdminRequest): Promise<unknown> =>
  server.ok(method, path, body);

/** Where the BMCs are, inside the network. */
const bmcs = '127.77';

export const machineName = (index: number): string => `n${index + 1}`;
export const virtualName = (index: number): string => `v${index + 1}`;

export async function startBootWorld(options: WorldOptions): Promise<BootWorld> {
  const {
    machines,
    virtual = [],
    images: wanted = ['ram', 'disk'],
    config = '',
    bootDirectory,
    prepare,
    listens = true,
    send = sendNow,
  } = options;
  const network = makeBootNetwork(machines.length);
  const { namespace, address } = network;
  const top = mkdtempSync(join(tmpdir(), 'muster-boot-'));
  const [data, installdir] = [join(top, 'data'), join(top, 'install')];
  const vms: Vm[] = [];
  let server: TestServer | undefined;
  let hypervisor: LibvirtLab | undefined;
  let router: LabChild | undefined;
  const listeners = listens ? `listen = ["${address}:80"]\ntftpListen = ["${address}:69"]\n` : '';
  const own = bootDirectory === undefined ? '' : `directory = "${bootDirectory}"\n`;
  let environment: Readonly<Record<string, string>> = {};
  const start = async (): Promise<TestServer> =>
    startServer({
      data,
      namespace,
      config: `${config}\n${hypervisor ? hardwareSettings(hypervisor) : ''}[boot]\n${listeners}${own}[longWork]\nreserve = 1\n[images]\nkeptPacks = 2\n`,
      environment: {
        MUSTER_DHCP_DAEMON: 'process',
        MUSTER_REMOTE_NETWORKS: `${bootNet.net}/16`,
        MUSTER_HARDWARE_NETWORKS: `127.0.0.0/8,::1/128,${bootNet.net}/16`,
        ...environment,
      },
    });
  const stop = async (): Promise<void> => {
    await Promise.all(vms.map((vm) => vm.stop()));
    await server?.stop();
    await hypervisor?.stop();
    await router?.stop();
    network.remove();
    rmSync(top, { recursive: true, force: true });
  };
  try {
    router = startSilentRouter(network, top);
    mkdirSync(data);
    mkdirSync(installdir);
    environment = (await prepare?.(data, network)) ?? environment;
    for (const image of wanted) {
      const kind = methods[image] === 'statelite' ? 'statelite' : 'netboot';
      const place = join(installdir, kind, 'debian12', machineArch, image);
      await placeBootImage(image, place, image, image === 'mirror' ? layoutPackages : []);
    }
    writeFileSync(join(installdir, 'exlist'), leftOut.map((each) => `${each}\n`).join(''));
    writeFileSync(
      join(installdir, 'exlist.mirror'),
      [...leftOut, ...keptForMirror].map((each) => `${each}\n`).join(''),
    );
    writeFileSync(join(installdir, 'layout'), mirrorLayout);
    if (virtual.length > 0) hypervisor = await startLibvirt({ namespace });
    server = await start();
    const nodes = { ...physicalNodes(machines), ...virtualNodes(virtual, machines.length, hypervisor) };
    for (const request of definitions(network, installdir, nodes, wanted)) await send(server, request);
    for (const [index, hardware] of machines.entries())
      vms.push(await startVm({ prefix: bmcs, index, namespace, hardware: bootHardware(hardware) }));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    network,
    installdir,
    server: () => server!,
    machine: (index) => vms[index]!,
    hypervisor,
    async killAndRestart() {
      server!.child.kill('SIGKILL');
      await server!.stop().catch(() => {});
      server = await start();
    },
    stop,
  };
}

/** What an administrator sends. */
export interface AdminRequest {
  readonly method: 'POST' | 'PUT';
  readonly path: string;
  readonly body?: object;
}

/** The network, the images and the machines, as an administrator defines them. */
function definitions(
  { address, interface: nic }: BootNetwork,
  installdir: string,
  nodes: NodeDefinitions,
  images: readonly BootImage[],
): AdminRequest[] {
  const site = { installdir, master: address, domain: 'cluster.test', dhcpinterfaces: nic };
  return [
    ...Object.entries(site).map(
      ([key, value]): AdminRequest => ({ method: 'PUT', path: `/globalconf/attrs/${key}`, body: { [key]: value } }),
    ),
    {
      method: 'POST',
      path: '/networks/boot',
      body: { ...bootNet, gateway: address, tftpserver: address, dynamicrange: '10.77.9.1-10.77.9.99' },
    },
    { method: 'PUT', path: '/nodes', body: nodes },
    { method: 'POST', path: '/services/dhcp' },
    ...images.flatMap((image): AdminRequest[] => [
      { method: 'POST', path: `/osimages/${image}`, body: imageAttributes(image, installdir) },
      { method: 'POST', path: `/osimages/${image}/instance`, body: { action: 'pack', params: [{ compress: 'lz4' }] } },
    ]),
  ];
}

type NodeDefinitions = Readonly<Record<string, Readonly<Record<string, string>>>>;

function physicalNodes(machines: readonly BootHardware[]): NodeDefinitions {
  const { username, password } = labAccounts.administrator;
  const nodes = machines.map(({ firmware, netboot = usualLoader(firmware), attributes }, index) => [
    machineName(index),
    {
      groups: 'all',
      mgt: 'ipmi',
      bmc: bmcAddress(index),
      bmcusername: username,
      bmcpassword: password,
      arch: machineArch,
      netboot,
      ip: machineAddress(index),
      ...(attributes ?? { mac: machineMac(index) }),
    },
  ]);
  return Object.fromEntries(nodes);
}

/** Their addresses follow those of the others. */
function virtualNodes(
  virtual: NonNullable<WorldOptions['virtual']>,
  others: number,
  hypervisor: LibvirtLab | undefined,
): NodeDefinitions {
  const nodes = virtual.map((attributes, index) => [
    virtualName(index),
    {
      groups: 'vms',
      mgt: 'kvm',
      vmhost: 'localhost',
      vmnics: 'br0',
      vmstorage: `dir://${hypervisor!.images}`,
      vmstoragemodel: 'virtio',
      arch: machineArch,
      netboot: usualLoader(machineArch === 'x86_64' ? 'bios' : 'uefi'),
      ip: machineAddress(others + index),
      ...attributes,
    },
  ]);
  return Object.fromEntries(nodes);
}

const hardwareSettings = ({ socket }: LibvirtLab): string =>
  `[hardware]\nlibvirtSocket = ${JSON.stringify(socket)}\naccelerator = "qemu"\n`;

const imageAttributes = (image: BootImage, installdir: string) => ({
  imagetype: 'linux',
  osname: 'Linux',
  osvers: 'debian12',
  osarch: machineArch,
  profile: image,
  provmethod: methods[image],
  exlist: join(installdir, image === 'mirror' ? 'exlist.mirror' : 'exlist'),
  ...(image === 'mirror' ? { partitionfile: join(installdir, 'layout') } : {}),
  // The second is for a kernel that starts from a disk: an emulated serial line is slow.
  addkcmdline: `console=${machineConsole} quiet R::quiet`,
});

/** Debian 12 has no iPXE for arm64, and under Secure Boot only what is signed starts. */
const usualLoader = (firmware: Firmware): string =>
  firmware === 'secure' || machineArch === 'aarch64' ? 'grub2' : 'xnba';

const bmcAddress = (index: number): string => labAddress(bmcs, index);
