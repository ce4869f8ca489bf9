import { existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { effectiveReader } from '../../objects/effective.ts';
import { nodeAttribute } from '../../objects/node-attributes.ts';
import { architecture } from '../../objects/distributions.ts';
import type { ImagePaths } from '../../images/index.ts';
import type { NodeImage } from '../../objects/node-image.ts';
import type { InstallBoot } from '../boot-order.ts';
import { type Asking, gatherFacts, installPath, mainSource, sourcesOf } from './facts.ts';
import { type InstallerName, installerOf } from './installer.ts';

interface BootWanted extends Asking {
  readonly snapshot: Snapshot;
  readonly paths: ImagePaths;
  readonly node: string;
  readonly image: NodeImage;
}

/** Where the installer lies here, and below the URL of this server. */
interface Tree {
  readonly directory: string;
  readonly below: string;
}

type Pair = readonly [kernel: string, initrd: string];

export function installBoot(wanted: BootWanted): InstallBoot {
  const { snapshot, node, image, server, token } = wanted;
  const { installer, sources, tree, pair } = findInstaller(wanted);
  const [kernel, initrd] = pair.map((name) => `${tree.below}/${name}`) as [string, string];
  const args = lines[installer]({
    wanted,
    tree,
    answers: `http://${server}/boot/answer/${node}/${token}`,
    source: mainSource({ sources, image }).url,
    facts: gatherFacts(effectiveReader(snapshot), node),
  });
  return { kernel, initrd, args };
}

type InstallerWanted = Pick<BootWanted, 'snapshot' | 'paths' | 'image'> & { readonly server?: string };

/** The installer of an image with its kernel; a Fault says what is missing. The server matters for URLs alone. */
export function findInstaller({ snapshot, paths, image, server = 'SERVER' }: InstallerWanted) {
  const installer = installerOf(image);
  const sources = sourcesOf(snapshot, paths, image, 'pkgdir', server);
  const installdir = paths.installDirectory(snapshot);
  const directory = sources.find((source) => source.directory !== undefined)?.directory;
  if (directory === undefined)
    throw new Fault(
      'invalid',
      `${image.name}: pkgdir must also name the tree that the installer itself is in, such as ${join(installdir, image.os, image.arch)}.`,
    );
  const below = installPath(installdir, directory);
  const pairs = kernels(installer, image);
  const pair = pairs.find((each) => each.every((name) => isFile(join(directory, name))));
  if (!pair || below === undefined) throw missingKernel(image, directory, pairs, installer);
  const tree: Tree = { directory, below };
  return { installer, sources, tree, pair };
}

const isFile = (path: string): boolean => existsSync(path) && lstatSync(path).isFile();

/** Where media and mirrors have them, the likeliest first. */
function kernels(installer: InstallerName, { os, arch }: NodeImage): readonly Pair[] {
  if (installer === 'kickstart')
    return arch.startsWith('ppc64')
      ? [['ppc/ppc64/vmlinuz', 'ppc/ppc64/initrd.img']]
      : [['images/pxeboot/vmlinuz', 'images/pxeboot/initrd.img']];
  if (installer === 'autoyast')
    return [
      [`boot/${arch}/loader/linux`, `boot/${arch}/loader/initrd`],
      [`boot/${arch}/linux`, `boot/${arch}/initrd`],
    ];
  if (installer === 'autoinstall')
    return ['', 'hwe-'].map((kind): Pair => [`casper/${kind}vmlinuz`, `casper/${kind}initrd`]);
  const { debian } = architecture(arch);
  const name = os.startsWith('ubuntu') ? 'ubuntu-installer' : 'debian-installer';
  return [`install/netboot/${name}/${debian}`, `netboot/${name}/${debian}`, `${name}/${debian}`].map(
    (directory): Pair => [`${directory}/linux`, `${directory}/initrd.gz`],
  );
}

function missingKernel(image: NodeImage, tree: string, pairs: readonly Pair[], installer: InstallerName): Fault {
  const looked = pairs.map((pair) => pair.join(' and ')).join(', or ');
  const hint =
    installer === 'preseed'
      ? ` Media hold an installer that wants a CD; copy linux and initrd.gz of the netboot installer there (package debian-installer-12-netboot-amd64 and its like).`
      : ' Copy a medium there with POST /osimages {"iso":...}.';
  return new Fault('invalid', `${image.name}: ${tree} has no installer to boot: there is neither ${looked}.${hint}`);
}

interface LineFacts {
  readonly wanted: BootWanted;
  readonly tree: Tree;
  /** URLs of the answers, and of what is installed from. */
  readonly answers: string;
  readonly source: string;
  readonly facts: ReturnType<typeof gatherFacts>;
}

/** A server with an address of IPv6 is reached by one of IPv6. */
const dhcp = (server: string): string => (server.startsWith('[') ? 'dhcp6' : 'dhcp');

/** The kernel line of each installer. */
const lines: Readonly<Record<InstallerName, (line: LineFacts) => string>> = {
  kickstart: ({ wanted: { server }, answers, source, facts: { nic } }) =>
    `inst.repo=${source} inst.ks=${answers}/ks.cfg ip=${nic ? `${nic.value}:` : ''}${dhcp(server)}`,
  autoyast: ({ wanted: { server }, answers, source, facts: { nic } }) =>
    `install=${source} autoyast=${answers}/autoinst.xml ifcfg=${nic?.value ?? '*'}=${dhcp(server)}`,
  autoinstall: ({ wanted, tree, answers }) =>
    `ip=dhcp ${medium(wanted, tree)} autoinstall ds=nocloud-net;s=${answers}/`,
  // The network must be there before the answers can be fetched, so what they say of it stands here too.
  preseed({ answers, facts: { hostname, domain, nic, address, nameServers } }) {
    const names = `hostname=${hostname.value} domain=${domain?.value ?? 'local'} interface=${nic?.value ?? 'auto'}`;
    const fixed = address && {
      disable_autoconfig: 'true',
      get_ipaddress: address.address.value,
      get_netmask: address.mask.value,
      get_gateway: address.gateway?.value ?? 'none',
      ...(nameServers[0] ? { get_nameservers: nameServers[0].value } : {}),
      confirm_static: 'true',
    };
    const words = Object.entries(fixed ?? {}).map(([name, value]) => ` netcfg/${name}=${value}`);
    return `auto=true priority=critical url=${answers}/preseed.cfg ${names}${words.join('')}`;
  },
};

/** The live system of Ubuntu's installer is the medium as a file, or its tree by NFS. */
function medium({ snapshot, node, image, server }: BootWanted, { directory, below }: Tree): string {
  const names = readdirSync(directory).filter((name) => /^[A-Za-z0-9][A-Za-z0-9._+-]*\.iso$/.test(name));
  const iso = names.find((name) => isFile(join(directory, name)));
  if (iso !== undefined) return `url=http://${server}/${below}/${iso}`;
  const nfs = nodeAttribute(effectiveReader(snapshot), node, 'nfsserver');
  if (nfs && /^[A-Za-z0-9.:-]+$/.test(nfs)) return `netboot=nfs nfsroot=${nfs}:${directory}`;
  throw new Fault(
    'invalid',
    `${image.name}: the installer of Ubuntu gets its system as one file: put the medium (NAME.iso) into ${directory}, or export that by NFS and set nfsserver of the node.`,
  );
}
