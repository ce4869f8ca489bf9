import { readOptional } from '../../core/files.ts';
import { archNamed } from './medium.ts';

const bases: Readonly<Record<string, string>> = {
  debian: 'debian',
  ubuntu: 'ubuntu',
  rhel: 'rhels',
  rocky: 'rocky',
  almalinux: 'alma',
  centos: 'centos-stream',
  ol: 'ol',
  fedora: 'fedora',
  sles: 'sles',
  'opensuse-leap': 'leap',
};

const nodeArchs: Readonly<Partial<Record<NodeJS.Architecture, string>>> = { x64: 'x86_64', arm64: 'aarch64' };

/** The operating system of this machine, named as those of media are: `debian12.12` of `x86_64`. */
export function ownSystem(): { readonly os: string; readonly arch: string } | undefined {
  const release = textOf('/etc/os-release');
  const value = (name: string): string =>
    release
      .split('\n')
      .find((line) => line.startsWith(`${name}=`))
      ?.slice(name.length + 1)
      .replaceAll('"', '') ?? '';
  const base = bases[value('ID')];
  // Debian has its point release elsewhere.
  const version = base === 'debian' ? textOf('/etc/debian_version').trim() : value('VERSION_ID');
  const arch = archNamed(nodeArchs[process.arch] ?? process.arch);
  return base === undefined || arch === undefined || version === '' ? undefined : { os: `${base}${version}`, arch };
}

/** Not every system has each of these files. */
const textOf = (file: string): string => readOptional(file) ?? '';
