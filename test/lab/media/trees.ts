import { createHash } from 'node:crypto';

/** Files by their paths; `{ link }` is a symbolic link, `{ device }` a device. */
export type Tree = Record<string, string | Buffer | { readonly link: string } | { readonly device: true }>;

/** The architectures that media are made for, as each family calls them. */
export type LabArch = 'x86_64' | 'aarch64';
const debianArch = (arch: LabArch): string => (arch === 'x86_64' ? 'amd64' : 'arm64');

const digest = (algorithm: string, content: string | Buffer): string =>
  createHash(algorithm).update(content).digest('hex');

const isContent = (entry: Tree[string]): entry is string | Buffer =>
  typeof entry === 'string' || Buffer.isBuffer(entry);

/** The list of checksums that Debian and Ubuntu put on their media. */
export function withMd5Sums(tree: Tree): Tree {
  const lines = Object.entries(tree).flatMap(([path, entry]) =>
    isContent(entry) && path !== 'md5sum.txt' ? `${digest('md5', entry)}  ./${path}\n` : [],
  );
  return { ...tree, 'md5sum.txt': lines.join('') };
}

export function debianTree(arch: LabArch = 'x86_64', disc = 'NETINST', version = '12.12.0'): Tree {
  const name = debianArch(arch);
  const pool = `pool/main/b/bc/bc_${disc.replaceAll(/\W/g, '')}_${name}.deb`;
  return withMd5Sums({
    '.disk/info': `Debian GNU/Linux ${version} "Bookworm" - Official ${name} ${disc} with firmware 20250906-10:22`,
    '.disk/base_components': 'main\n',
    'dists/bookworm/Release': `Suite: stable\nCodename: bookworm\nArchitectures: ${name}\n`,
    [`dists/bookworm/main/binary-${name}/Packages`]: `Package: bc\nArchitecture: ${name}\nFilename: ${pool}\n`,
    'dists/stable': { link: 'bookworm' },
    [pool]: `a package of ${disc}`,
    debian: { link: '.' },
    [`install.${arch === 'x86_64' ? 'amd' : 'a64'}/vmlinuz`]: 'kernel',
    [`install.${arch === 'x86_64' ? 'amd' : 'a64'}/initrd.gz`]: 'initrd',
  });
}

export function ubuntuTree(arch: LabArch = 'x86_64'): Tree {
  const name = debianArch(arch);
  return withMd5Sums({
    '.disk/info': `Ubuntu-Server 24.04.3 LTS "Noble Numbat" - Release ${name} (20250805.1)`,
    '.disk/cd_type': 'full_cd/single',
    'casper/vmlinuz': 'kernel',
    'casper/initrd': 'initrd',
    'casper/install-sources.yaml': '- id: ubuntu-server\n  path: ubuntu-server-minimal.squashfs\n',
    'casper/ubuntu-server-minimal.squashfs': Buffer.alloc(50_000, 7),
    'dists/noble/Release': `Suite: noble\nArchitectures: ${name}\n`,
    ubuntu: { link: '.' },
  });
}

/** Media of the Anaconda installer; `description` is the second line of .discinfo where it says other than name and version. */
export function anacondaTree(
  name: string,
  version: string,
  arch: LabArch = 'x86_64',
  description = `${name} ${version}`,
): Tree {
  const files: Tree = {
    'images/pxeboot/vmlinuz': 'kernel',
    'images/pxeboot/initrd.img': 'initrd',
    'images/install.img': Buffer.alloc(100_000, 3),
  };
  const sums = Object.entries(files).map(([path, entry]) => `${path} = sha256:${digest('sha256', entry as string)}\n`);
  return {
    ...files,
    '.discinfo': `1747267200.000000\n${description}\n${arch}\n`,
    '.treeinfo': `[header]
type = productmd.treeinfo
version = 1.2

[release]
name = ${name}
short = x
version = ${version}

[tree]
arch = ${arch}
build_timestamp = 1747267200
platforms = ${arch},xen
variants = AppStream,BaseOS

[general]
; WARNING.0 = This section provides compatibility with pre-productmd treeinfos.
family = ${name}
name = ${name} ${version}
version = ${version}
arch = ${arch}
variant = BaseOS
packagedir = BaseOS/Packages
repository = BaseOS

[checksums]
${sums.join('')}images/boot.iso = sha256:${'0'.repeat(64)}
`,
    'media.repo': `[InstallMedia]\nname=${name} ${version}\n`,
    'BaseOS/repodata/repomd.xml': '<repomd/>',
    'BaseOS/Packages/b/bash.rpm': 'a package',
    'AppStream/repodata/repomd.xml': '<repomd/>',
  };
}

export function suseTree(media: string, product: string, arch: LabArch = 'x86_64', disc = 1): Tree {
  const loader = arch === 'x86_64' ? `boot/${arch}/loader` : `boot/${arch}`;
  const files: Tree =
    disc === 1
      ? { [`${loader}/linux`]: 'kernel', [`${loader}/initrd`]: 'initrd', [`boot/${arch}/root`]: Buffer.alloc(50_000) }
      : {};
  const all: Tree = {
    ...files,
    [`media.${disc}/media`]: `${media}\n${media.replace(/^.* - /, '')}\n1\n`,
    [`media.${disc}/products`]: `/ ${product}\n`,
    'repodata/repomd.xml': `<repomd>${disc}</repomd>`,
    [`noarch/package-${disc}.rpm`]: 'a package',
  };
  const sums = Object.entries(all).map(([path, entry]) => `${digest('sha256', entry as string)}  ${path}\n`);
  return { ...all, CHECKSUMS: sums.join('') };
}

export const slesTree = (arch: LabArch = 'x86_64', disc = 1): Tree =>
  suseTree(`SUSE - SLE-15-SP6-Full-${arch}-Build680.2-Media${disc}`, 'SLES15-SP6 15.6-0', arch, disc);
export const leapTree = (arch: LabArch = 'x86_64'): Tree =>
  suseTree(`openSUSE - openSUSE-Leap-15.6-DVD-${arch}-Build710.3-Media`, 'openSUSE-Leap 15.6-1', arch);
